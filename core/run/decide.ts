/**
 * The life of a run as pure functions: what a command changes (`decide`), the run afterwards
 * (`evolve`), and the events that tell of it (`eventsOf`). Nothing here reads or writes.
 */
import { Result } from "effect"
import type { NewEvent } from "#core/event.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import { guardOf, type RunCommand, rules } from "#core/run/command.ts"
import {
  MergeCompleted,
  MergeConflicted,
  MergeFailed,
  MergeStarted,
  ReviewApproved,
  ReviewChangesRequested,
  ReviewDeclined,
  ReviewRequested,
  RevisionStarted,
} from "#core/run/events/review.ts"
import {
  RunAssembleReady,
  RunCancelled,
  RunCompleted,
  RunError,
  RunFailed,
  RunNoChangesProduced,
} from "#core/run/events/run.ts"
import type { Run, RunState } from "#core/run/run.ts"
import { isTerminal, type RunStatus } from "#core/run/status.ts"

/** The columns a command sets; absent means unchanged. Times are the database's. */
export interface RunChange
  extends Partial<
    Pick<
      Run,
      | "result"
      | "worktreePath"
      | "worktreeBranch"
      | "treeHash"
      | "diff"
      | "reviewedBy"
      | "mergedCommitHash"
      | "mergeConflicts"
    >
  > {
  readonly status: RunStatus
  readonly starts?: true
  readonly revises?: true
  /** Set or cleared by the statuses: `ended_at` in terminal ones, `review_ready_at` while a review waits. */
  readonly reviewReady?: boolean
}

export type Decision =
  | { readonly _tag: "Change"; readonly change: RunChange; readonly events: ReadonlyArray<NewEvent> }
  /** It was done before. */
  | { readonly _tag: "Repeat" }

/** What the command does, says it was done, or says why not. */
export const decide = (state: RunState, command: RunCommand): Result.Result<Decision, Refusal> => {
  const guard = guardOf(command)
  if (guard.from.includes(state.status)) {
    if (guard.childOnly && state.parentRunId === null)
      return Result.fail(refuse("conflict", { message: "Only a child run is assembled." }))
    if (state.revisions >= guard.revisionsBelow) return Result.fail(refuseRevision(state))
    if (guard.treeHash !== null && state.treeHash !== guard.treeHash) {
      return Result.fail(refuse("worktree_changed", { extra: { status: state.status } }))
    }
    const change = changeOf(command)
    return Result.succeed({ _tag: "Change", change, events: eventsOf(evolve(state, change), command) })
  }
  if (rules[command._tag].done.includes(state.status)) return Result.succeed({ _tag: "Repeat" })
  return Result.fail(refuseStatus(state.status, command))
}

export const evolve = (state: RunState, change: RunChange): RunState => ({
  ...state,
  status: change.status,
  treeHash: change.treeHash === undefined ? state.treeHash : change.treeHash,
  worktreeBranch: change.worktreeBranch === undefined ? state.worktreeBranch : change.worktreeBranch,
  result: change.result === undefined ? state.result : change.result,
  reviewedBy: change.reviewedBy === undefined ? state.reviewedBy : change.reviewedBy,
  revisions: state.revisions + (change.revises ? 1 : 0),
})

export const changeOf = (command: RunCommand): RunChange => {
  switch (command._tag) {
    case "Start":
      return {
        status: "in_progress",
        starts: true,
        worktreePath: command.worktreePath,
        worktreeBranch: command.worktreeBranch,
      }
    case "RequestReview":
      return {
        status: "awaiting_review",
        treeHash: command.treeHash,
        diff: command.diff,
        reviewReady: true,
        ...(command.worktreeBranch === undefined ? {} : { worktreeBranch: command.worktreeBranch }),
      }
    case "RequestChanges":
      return { status: "in_progress", revises: true, reviewReady: false }
    case "Decline":
      return { status: "declined", result: "declined", reviewedBy: command.by }
    case "Approve":
      return { status: "merging", reviewedBy: command.by, reviewReady: false }
    case "StartMerge":
      return {
        status: "merging",
        reviewedBy: command.by,
        reviewReady: false,
        ...(command.treeHash === undefined ? {} : { treeHash: command.treeHash }),
      }
    case "TakeCommitSlot":
      return { status: "committing", reviewedBy: command.by, reviewReady: false }
    case "ReleaseCommitSlot":
      return {
        status: "awaiting_review",
        reviewReady: true,
        ...(command.treeHash === undefined ? {} : { treeHash: command.treeHash }),
      }
    case "BlockMerge":
      return { status: "awaiting_review", reviewReady: true }
    case "CompleteMerge":
      return { status: "merged", mergedCommitHash: command.commit, result: `merged:${command.commit}` }
    case "FailMerge":
      return { status: "merge_failed", mergeConflicts: command.conflicts, result: `conflict:${command.reason}` }
    case "AssembleReady":
      return {
        status: "assemble_ready",
        treeHash: command.treeHash,
        worktreeBranch: command.worktreeBranch,
        diff: command.diff,
        ...(command.hasChanges ? {} : { result: "no_changes" }),
      }
    case "Reopen":
      return { status: "in_progress", revises: true, result: null }
    case "Complete":
      return { status: "completed", result: command.result }
    case "Fail":
      return { status: "failed", result: command.result ?? command.errorCode }
    case "Cancel":
      return command.reason === "project_deleted"
        ? { status: "cancelled", result: "cancelled" }
        : { status: "failed", result: command.reason }
  }
}

/** The events of a command, given the run as it is afterwards. */
export const eventsOf = (after: RunState, command: RunCommand): ReadonlyArray<NewEvent> => {
  switch (command._tag) {
    case "Start":
    case "TakeCommitSlot":
      return []
    case "RequestReview":
      return [ReviewRequested.of({ tree_hash: command.treeHash, request_id: command.requestId })]
    case "Reopen":
      return [revisionStarted(after)]
    case "RequestChanges":
      return [ReviewChangesRequested.of({ comment: command.comment, reviewer: command.by }), revisionStarted(after)]
    case "Decline":
      return [ReviewDeclined.of({ reviewer: command.by })]
    case "Approve":
      return [ReviewApproved.of({ reviewer: command.by }), MergeStarted.of({ tree_hash: after.treeHash })]
    case "StartMerge":
      return [MergeStarted.of({ tree_hash: after.treeHash })]
    case "ReleaseCommitSlot":
    case "BlockMerge":
      return [RunError.of({ reason: command.reason })]
    case "CompleteMerge":
      return [
        MergeCompleted.of({
          merged_commit_hash: command.commit,
          ...(command.mode === undefined ? {} : { merge_mode: command.mode }),
          ...(command.previousHead === undefined ? {} : { previous_head_sha: command.previousHead }),
        }),
      ]
    case "FailMerge":
      return [
        ...(command.conflicts.length > 0 ? [MergeConflicted.of({ conflicting_files: command.conflicts })] : []),
        MergeFailed.of({ reason: command.reason }),
      ]
    case "AssembleReady":
      return assembleReadyEvents(after, command)
    case "Complete":
      return [RunCompleted.of({ result: command.result })]
    case "Fail": {
      const { _tag, result, ...payload } = command
      return [RunFailed.of(payload)]
    }
    case "Cancel":
      return [RunCancelled.of({ reason: command.reason, cancelledBy: command.by })]
  }
}

const revisionStarted = ({ revisions }: RunState): NewEvent =>
  RevisionStarted.of({ revision: revisions, message: `Revision ${revisions} was asked for.` })

const assembleReadyEvents = (
  after: RunState,
  command: Extract<RunCommand, { _tag: "AssembleReady" }>,
): ReadonlyArray<NewEvent> => {
  const child = { runId: after.runId, subtaskId: after.subtaskId, parentRunId: after.parentRunId }
  const ready = RunAssembleReady.of({
    ...child,
    worktreeBranch: command.worktreeBranch,
    treeHash: command.treeHash,
    hasChanges: command.hasChanges,
    stepCount: after.stepCount,
    raiSafetyFlagged: command.raiSafetyFlagged,
  })
  return command.hasChanges
    ? [ready]
    : [RunNoChangesProduced.of({ ...child, message: "The run ended without a committed change." }), ready]
}

const refuseStatus = (status: RunStatus, command: RunCommand): Refusal => {
  const wanted = guardOf(command).from
  const message = isTerminal(status)
    ? `The run has ended (${status}).`
    : `The run is ${status}; this needs ${wanted.join(" or ")}.`
  return refuse(isTerminal(status) ? "run_not_active" : "conflict", { message, extra: { status } })
}

const refuseRevision = (state: RunState): Refusal =>
  refuse("revision_limit_reached", { extra: { status: state.status, revisions: state.revisions } })
