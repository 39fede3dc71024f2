/** The contracts of the reviewers of an assembly: what they are asked, and what their answers come to. */
import type { RaiAnswer } from "#policies/rai/model.ts"
import type { Verdict } from "#policies/rai/verdict.ts"
import { envelope } from "#runtime/coordinator/model/prompt.ts"
import type { GateAnswer } from "#runtime/coordinator/outcome.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { targetFilesIn } from "#runtime/coordinator/target-files.ts"

interface ShownChange {
  readonly diff: string
  /** From 1, where a large change is shown in parts. */
  readonly part: number
  readonly of: number
  /** The last answer had no verdict in it. */
  readonly again: boolean
}

export const reviewQuestion = (
  { run, spec }: Pick<CoordinatorState, "run" | "spec">,
  { diff, part, of, again }: ShownChange,
): string =>
  [
    ...(again ? ["Your last answer did not end with a verdict line. Answer again, and end with one."] : []),
    ...(of > 1 ? [`This is part ${part} of ${of} of the change.`] : []),
    envelope({ goal: run.goal, outcome: spec?.desiredOutcome ?? run.goal, change: diff }),
  ].join("\n\n")

/** Characters of a reviewer's explanation that are kept. */
const maxSummary = 2_000

const critique = /^[^\p{L}\p{N}\n]*VERDICT[^\p{L}\p{N}\n:]*:(.*)$/gimu

/** Of several verdict lines the last counts, of several words on it the more severe. Undefined: there is none. */
export const critiqueIn = (reply: string): "approve" | "request_changes" | undefined => {
  const line = [...reply.matchAll(critique)].at(-1)?.[1] ?? ""
  if (/\bREQUEST[_ -]?CHANGES\b/i.test(line)) return "request_changes"
  return /\bAPPROVED?\b/i.test(line) ? "approve" : undefined
}

/** The critique is one opinion before a person's: one that cannot be read holds nothing up, and says so. */
export const critiqueAnswer = (reply: string): GateAnswer => {
  const verdict = critiqueIn(reply) ?? "unreadable"
  const summary = reply.replace(critique, "").trim().slice(0, maxSummary)
  return verdict === "request_changes"
    ? { _tag: "Rejected", verdict, summary, severity: "request-changes", targetFiles: targetFilesIn(reply) }
    : { _tag: "Passed", verdict, summary }
}

/** What the responsible-AI pass over the whole comes to. */
export const raiGateAnswer = ({
  verdict,
  rationale,
  reason,
}: Omit<RaiAnswer, "verdict"> & { readonly verdict: Verdict }): GateAnswer => {
  switch (verdict) {
    case "green":
    case "yellow":
      return { _tag: "Passed", verdict, summary: rationale }
    case "revise":
      return {
        _tag: "Rejected",
        verdict,
        summary: rationale,
        severity: "request-changes",
        targetFiles: targetFilesIn(rationale),
      }
    case "red":
      return { _tag: "Blocked", reason: reason ?? rationale }
  }
}
