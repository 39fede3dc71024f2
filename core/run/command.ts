/**
 * What can be asked of a run's status, and from where: the transition table as data. The same table
 * guards the update in the database and decides here, so that the two cannot disagree.
 */
import type { cancelReasons } from "#core/run/events/run.ts"
import { activeStatuses, type RunStatus } from "#core/run/status.ts"

export type RunCommand =
  /** The worktree is ready. */
  | { readonly _tag: "Start"; readonly worktreePath: string | null; readonly worktreeBranch: string | null }
  /** The work is committed and its tree hash known: a person is to look at it. */
  | {
      readonly _tag: "RequestReview"
      readonly treeHash: string
      readonly diff: string
      readonly requestId: string
      readonly worktreeBranch?: string
    }
  | { readonly _tag: "RequestChanges"; readonly comment: string; readonly by: string; readonly maxRevisions: number }
  | { readonly _tag: "Decline"; readonly by: string }
  /** `treeHash`: what was looked at; it is refused where that is not what would be merged any more. */
  | { readonly _tag: "Approve"; readonly by: string; readonly treeHash?: string | null }
  /** Commit and merge without a review decision: first the slot, then the merge. */
  | { readonly _tag: "TakeCommitSlot"; readonly by: string }
  | { readonly _tag: "ReleaseCommitSlot"; readonly reason: string; readonly treeHash?: string }
  | { readonly _tag: "StartMerge"; readonly by: string; readonly treeHash?: string }
  /** The merge could not be tried now, and nothing was changed. */
  | { readonly _tag: "BlockMerge"; readonly reason: string }
  | {
      readonly _tag: "CompleteMerge"
      readonly commit: string
      readonly mode?: "ref-only" | "working-tree-reset"
      readonly previousHead?: string
    }
  | { readonly _tag: "FailMerge"; readonly reason: string; readonly conflicts: ReadonlyArray<string> }
  /** A child has done its part. */
  | {
      readonly _tag: "AssembleReady"
      readonly treeHash: string | null
      readonly worktreeBranch: string | null
      readonly diff: string | null
      readonly hasChanges: boolean
      readonly raiSafetyFlagged: boolean
    }
  /** A child that had done its part goes on, with its session and its checkout. */
  | { readonly _tag: "Reopen"; readonly comment: string; readonly by: string }
  /** Ended without a change to merge; `result` is `no_changes` for a run of its own. */
  | { readonly _tag: "Complete"; readonly result: string }
  | {
      readonly _tag: "Fail"
      readonly message: string
      readonly errorCode: string
      readonly retryable: boolean
      /** Stored as the run's result; the error code where absent. */
      readonly result?: string
      readonly correlationId?: string
      readonly traceId?: string
      readonly causeChain?: ReadonlyArray<string>
    }
  | { readonly _tag: "Cancel"; readonly reason: (typeof cancelReasons)[number]; readonly by: string }

export type CommandTag = RunCommand["_tag"]

interface Rule {
  readonly from: ReadonlyArray<RunStatus>
  /** Statuses in which the command has been carried out already: asked again, the answer is the same. */
  readonly done: ReadonlyArray<RunStatus>
  readonly childOnly?: true
}

export const rules: Record<CommandTag, Rule> = {
  Start: { from: ["pending"], done: ["in_progress"] },
  RequestReview: { from: activeStatuses, done: [] },
  RequestChanges: { from: ["awaiting_review"], done: [] },
  Decline: { from: ["awaiting_review"], done: ["declined"] },
  Approve: { from: ["awaiting_review"], done: ["merging", "merged", "merge_failed"] },
  TakeCommitSlot: { from: ["awaiting_review"], done: [] },
  ReleaseCommitSlot: { from: ["committing"], done: ["awaiting_review"] },
  StartMerge: { from: ["awaiting_review", "committing"], done: [] },
  BlockMerge: { from: ["merging"], done: ["awaiting_review"] },
  CompleteMerge: { from: ["merging"], done: ["merged"] },
  FailMerge: { from: ["merging"], done: ["merge_failed"] },
  AssembleReady: { from: activeStatuses, done: ["assemble_ready"], childOnly: true },
  Reopen: { from: ["assemble_ready", "completed"], done: [], childOnly: true },
  Complete: { from: activeStatuses, done: ["completed"] },
  Fail: { from: activeStatuses, done: ["failed"] },
  Cancel: { from: activeStatuses, done: [] },
}

/** What must hold of the row for the command to change it. */
export interface Guard {
  readonly from: ReadonlyArray<RunStatus>
  readonly childOnly: boolean
  /** The row's `revisions` must be below this. */
  readonly revisionsBelow: number
  /**
   * The row's `treeHash` must be this. Null: any, for commands that decide on no tree, and for a coordinator's run,
   * where the same transaction compares the version of the plan that was looked at.
   */
  readonly treeHash: string | null
}

const anyRevisions = 2_147_483_647

export const guardOf = (command: RunCommand): Guard => ({
  from: rules[command._tag].from,
  childOnly: rules[command._tag].childOnly ?? false,
  revisionsBelow: command._tag === "RequestChanges" ? command.maxRevisions : anyRevisions,
  treeHash: (command._tag === "Approve" ? command.treeHash : null) ?? null,
})
