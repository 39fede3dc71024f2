// Written by svc for the question review.accept. Changes are lost: svc plugin build writes it again.

/** A person approves what a run made, which would then be merged. */
export type Ask = ReviewAcceptAsk
/** Null, or nothing at all: no opinion. The next policy is asked, and in the end the service itself. */
export type Answer = GuardAnswer | null | undefined

export interface ReviewAcceptAsk {
  /** The run that the question is about. */
  readonly runId: string
  readonly projectId: string | null
  /** One run, or the assembled work of a plan. */
  readonly scope: "run" | "assembly"
  readonly reviewer: string
  /** Who started the run. */
  readonly submittedBy: string
  /** Git tree that the question is about; null where there is none yet. */
  readonly treeHash: string | null
  readonly targetBranch: string | null
  /** Paths that the merge would change. */
  readonly files: ReadonlyArray<string>
}

export type GuardAnswer =
  | {
      readonly decision: "allow"
    }
  | {
      readonly decision: "refuse"
      readonly reason: string
      readonly policy?: string
    }

declare global {
  /** A setting of the plugin, as text, where the manifest asks for it and an operator granted it. */
  function config(name: string): string | undefined
  /** Lines in the log of the service: at most 32 of one answer. */
  const console: Record<"debug" | "log" | "info" | "warn" | "error", (...values: ReadonlyArray<unknown>) => void>
}
