/** What is to be done while children work: see how they stand, give up the stalled, start what can start. */
import { type Action, write } from "#runtime/coordinator/action.ts"
import type { Change, ChangeOf } from "#runtime/coordinator/change.ts"
import { reachedFrom, tiesOf } from "#runtime/coordinator/dependencies.ts"
import { baseOf } from "#runtime/coordinator/order.ts"
import {
  type ChildView,
  type CoordinatorState,
  isEligible,
  lastAttempt,
  liveAttempt,
  type Subtask,
  type WorkPlan,
} from "#runtime/coordinator/state.ts"

export const millisPerMinute = 60_000

/** `steered`: directives are being carried out, so nothing new is started and nothing is concluded. */
export const dispatch = (
  state: CoordinatorState,
  plan: WorkPlan,
  now: number,
  steered: boolean,
): ReadonlyArray<Action> => {
  const seen = plan.subtasks.flatMap((subtask) => observe(state, subtask, now))
  if (steered || seen.length > 0) return seen.map((change) => write(change))
  const failed = plan.subtasks.filter((subtask) => isRecoverable(state, subtask))
  if (failed.length > 0) return failed.map((subtask) => failureSignal(state, subtask))
  const moved = dependents(plan)
  if (moved !== undefined) return [write(moved)]
  const started = startable(state, plan)
  if (started.length > 0) return started
  const waits = plan.subtasks.some((subtask) => liveAttempt(subtask) !== undefined || subtask.status === "pending")
  return waits ? [] : [write({ _tag: "ChildrenCompleted" })]
}

/** How the child of a subtask stands, where that is news. */
const observe = (state: CoordinatorState, subtask: Subtask, now: number): ReadonlyArray<Change> => {
  const live = liveAttempt(subtask)
  if (live === undefined) return []
  const { subtaskId } = subtask
  const child = state.children[live.childRunId]
  const end = child === undefined ? "stopped" : endOf(child)
  if (end !== undefined) return [{ _tag: "ChildSettled", subtaskId, end }]
  if (child === undefined || child.status === "pending") return []
  const running: ReadonlyArray<Change> = subtask.status === "running" ? [] : [{ _tag: "ChildRunning", subtaskId }]
  const stale = !child.waiting && now - child.lastEventAt >= state.limits.stallMinutes * millisPerMinute
  if (!stale) return running
  return [
    ...running,
    {
      _tag: "ChildStalled",
      subtaskId,
      childRunId: child.runId,
      staleSince: child.lastEventAt,
      lastSequence: child.lastSequence,
      redispatched: subtask.recoveryAttempts < state.limits.recoveryAttempts,
      at: now,
    },
  ]
}

/** Undefined: it still works. What people stopped is not tried again without them. */
const endOf = ({ status, result }: ChildView): ChangeOf<"ChildSettled">["end"] | undefined => {
  switch (status) {
    case "assemble_ready":
      return "assemble_ready"
    case "completed":
    case "merged":
      return "completed"
    case "failed":
      if (result === "content_safety") return "rai_flagged"
      return result === "steering_stop" || result === "cancelled" ? "stopped" : "failed"
    case "merge_failed":
      return "failed"
    case "declined":
    case "cancelled":
      return "stopped"
    case "pending":
    case "in_progress":
    case "awaiting_review":
    case "committing":
    case "merging":
      return undefined
  }
}

/** Failed by itself, in a way that may go better, and steering has not heard of it. */
const isRecoverable = ({ children }: CoordinatorState, subtask: Subtask): boolean => {
  const last = lastAttempt(subtask)
  return (
    subtask.status === "failed" &&
    last?.end === "failed" &&
    !last.signalled &&
    children[last.childRunId]?.retryable === true
  )
}

const failureSignal = ({ run, children }: CoordinatorState, subtask: Subtask): Action => {
  const child = children[lastAttempt(subtask)?.childRunId ?? ""]
  return {
    _tag: "Signal",
    signal: {
      coordinatorRunId: run.runId,
      source: "coordinator",
      targetScope: { kind: "subtask", subtaskIds: [subtask.subtaskId] },
      feedback: `The last attempt at this subtask failed (${child?.result ?? "for an unknown reason"}).`,
      severity: "request-changes",
      verb: "dispatch-fresh",
      treeHash: null,
      targetFiles: null,
      createdBy: "coordinator",
    },
  }
}

/** Pending subtasks that stand on one that will not be finished, and blocked ones that no longer do. */
const dependents = (plan: WorkPlan): Change | undefined => {
  const lost = plan.subtasks.filter(({ status }) => status === "failed" || status === "rai_flagged")
  const { neededBy } = tiesOf(plan.dependencies)
  const standing = reachedFrom(
    neededBy,
    lost.map(({ subtaskId }) => subtaskId),
  )
  const idsWith = (status: Subtask["status"], lostOnes: boolean) =>
    plan.subtasks
      .filter((subtask) => subtask.status === status && standing.has(subtask.subtaskId) === lostOnes)
      .map(({ subtaskId }) => subtaskId)
  const blocked = idsWith("pending", true)
  const unblocked = [...idsWith("blocked", false), ...idsWith("pending_capacity", false)]
  return blocked.length + unblocked.length === 0 ? undefined : { _tag: "DependentsMoved", blocked, unblocked }
}

const startable = ({ limits }: CoordinatorState, plan: WorkPlan): ReadonlyArray<Action> => {
  const done = new Set(plan.subtasks.filter(isEligible).map(({ subtaskId }) => subtaskId))
  const live = plan.subtasks.filter((subtask) => liveAttempt(subtask) !== undefined).length
  const { needs } = tiesOf(plan.dependencies)
  return plan.subtasks
    .filter(({ status, subtaskId }) => status === "pending" && (needs.get(subtaskId) ?? []).every((id) => done.has(id)))
    .sort((a, b) => a.ordinal - b.ordinal)
    .slice(0, Math.max(0, Math.min(limits.width - live, limits.capacity)))
    .map((subtask) => ({
      _tag: "Dispatch",
      subtaskId: subtask.subtaskId,
      attempt: (lastAttempt(subtask)?.attempt ?? 0) + 1,
      base: baseOf(plan, subtask),
    }))
}
