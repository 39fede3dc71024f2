/** What a change asks of the runs that it touches: the coordinator's own, and its children. */
import type { RunCommand } from "#core/run/command.ts"
import type { cancelReasons } from "#core/run/events/run.ts"
import type { Change } from "#runtime/coordinator/change.ts"
import { planOf, subtaskOf } from "#runtime/coordinator/evolve/parts.ts"
import { type CoordinatorState, integrationBranch, lastAttempt, liveAttempt } from "#runtime/coordinator/state.ts"

/** A person may send an assembly back as often as it takes. */
const anyRevisions = 2_147_483_647

/** Commands for the coordinator's own run, in this order. */
export const runCommandsOf = (before: CoordinatorState, change: Change): ReadonlyArray<RunCommand> => {
  const { run } = before
  const reviewed = run.status === "awaiting_review"
  switch (change._tag) {
    case "Started":
      return [{ _tag: "Start", worktreePath: null, worktreeBranch: integrationBranch(run.runId) }]
    case "SpecDeclined":
      return [{ _tag: "Complete", result: "declined" }]
    case "ReviewRequested":
      return [review(before, change.gateId, change.diff)]
    case "ReviewApproved":
      return reviewed ? [{ _tag: "Approve", by: change.by }] : []
    case "ReviewDeclined":
      return [
        ...(reviewed ? [] : [review(before, `${planOf(before).workPlanId}-declined`, "")]),
        { _tag: "Decline", by: change.by },
      ]
    case "SignalReceived":
      return reviewed && change.note === null
        ? [changesRequested(change.directive.signal.feedback, change.directive.signal.createdBy)]
        : []
    case "Rearmed":
      return reviewed ? [changesRequested(change.reason, change.by)] : []
    case "MergeBlocked":
    case "MergeConflicted":
      return [{ _tag: "BlockMerge", reason: change.reason }]
    case "Completed": {
      const { mergedCommit } = planOf(before).assembly
      return mergedCommit === null
        ? [{ _tag: "Complete", result: "no_changes" }]
        : [{ _tag: "CompleteMerge", commit: mergedCommit }]
    }
    case "Failed":
      return [{ _tag: "Fail", message: change.message, errorCode: change.reason, retryable: change.retryable }]
    case "Stopped":
    case "SpecDrafted":
    case "SpecConfirmed":
    case "SpecRevised":
    case "PlanDrafted":
    case "DispatchBegan":
    case "Dispatched":
    case "ChildRunning":
    case "ChildSettled":
    case "ChildStalled":
    case "QuestionAnswered":
    case "DependentsMoved":
    case "ChildrenCompleted":
    case "AssemblyStarted":
    case "AssemblyBlocked":
    case "ConflictSettled":
    case "Integrated":
    case "IntegrationConflicted":
    case "GateStarted":
    case "GatePassed":
    case "GateRejected":
    case "RaiBlocked":
    case "Merged":
    case "Scribed":
    case "SteeringDecided":
    case "ChildSteered":
    case "DirectiveApplied":
      return []
  }
}

const review = (state: CoordinatorState, requestId: string, diff: string): RunCommand => ({
  _tag: "RequestReview",
  treeHash: planOf(state).assembly.treeHash ?? "",
  diff,
  requestId,
  worktreeBranch: integrationBranch(state.run.runId),
})

const changesRequested = (comment: string, by: string): RunCommand => ({
  _tag: "RequestChanges",
  comment,
  by,
  maxRevisions: anyRevisions,
})

export type ChildEffect =
  | { readonly _tag: "Cancel"; readonly childRunId: string; readonly reason: (typeof cancelReasons)[number] }
  /** What it asked is answered, by the coordinator on autopilot. */
  | { readonly _tag: "Answer"; readonly childRunId: string; readonly requestId: string; readonly answer: string }
  /** The same child goes on with this; `key` names it, so that it is told once. */
  | { readonly _tag: "Revise"; readonly childRunId: string; readonly instruction: string; readonly key: string }

/** What happens to children, beside the one that is created by `Dispatched`. */
export const childEffectsOf = (before: CoordinatorState, change: Change): ReadonlyArray<ChildEffect> => {
  const cancelled = (subtaskId: number, reason: (typeof cancelReasons)[number]): ReadonlyArray<ChildEffect> => {
    const live = liveAttempt(subtaskOf(planOf(before), subtaskId))
    return live === undefined ? [] : [{ _tag: "Cancel", childRunId: live.childRunId, reason }]
  }
  switch (change._tag) {
    case "Failed":
      return (before.plan?.subtasks ?? []).flatMap(({ subtaskId }) => cancelled(subtaskId, "cancelled"))
    case "ChildStalled":
      return cancelled(change.subtaskId, "cancelled")
    case "ChildSettled":
      return change.end === "stopped" ? cancelled(change.subtaskId, "steering_stop") : []
    case "SteeringDecided":
      return change.answer.decision === "dispatch_fresh"
        ? change.answer.subtaskIds.flatMap((subtaskId) => cancelled(subtaskId, "steering_redirect"))
        : []
    case "QuestionAnswered": {
      const { childRunId, requestId, answer } = change
      return childRunId === null ? [] : [{ _tag: "Answer", childRunId, requestId, answer }]
    }
    case "ChildSteered": {
      const { directiveId, subtaskId } = change
      const directive = before.directives.find((each) => each.directiveId === directiveId)
      const last = lastAttempt(subtaskOf(planOf(before), subtaskId))
      if (directive === undefined || last === undefined) return []
      return [
        {
          _tag: "Revise",
          childRunId: last.childRunId,
          instruction: directive.signal.feedback,
          key: `directive:${directiveId}:${directive.attempt}`,
        },
      ]
    }
    default:
      return []
  }
}
