/** Changes while children work. */
import type { ChangeOf } from "#runtime/coordinator/change.ts"
import { ended, planOf, resetTo, subtaskOf, withPlan, withSubtasks } from "#runtime/coordinator/evolve/parts.ts"
import { type ChildView, type CoordinatorState, liveAttempt, type SubtaskStatus } from "#runtime/coordinator/state.ts"

const newChild = (runId: string): ChildView => ({
  runId,
  status: "pending",
  result: null,
  retryable: false,
  lastEventAt: 0,
  lastSequence: 0,
  waiting: true,
  questions: [],
  branch: null,
  commit: null,
  treeHash: null,
  touchedFiles: [],
  stepCount: 0,
  resumable: true,
  executionPodName: null,
})

const statusAfter: Record<ChangeOf<"ChildSettled">["end"], SubtaskStatus> = {
  assemble_ready: "assemble_ready",
  completed: "completed",
  rai_flagged: "rai_flagged",
  failed: "failed",
  stopped: "failed",
}

export const dispatchSteps = {
  DispatchBegan: (state: CoordinatorState) => withPlan(state, { status: "dispatching" }),

  Dispatched: (state: CoordinatorState, { subtaskId, attempt, childRunId }: ChangeOf<"Dispatched">) => {
    const before = subtaskOf(planOf(state), subtaskId)
    if (liveAttempt(before) !== undefined || before.attempts.some((each) => each.attempt >= attempt)) {
      throw new Error(`subtask ${subtaskId} has had attempt ${attempt}, or a child that still works`)
    }
    const dispatched = withSubtasks(state, [subtaskId], (subtask) => ({
      ...subtask,
      status: "dispatched",
      attempts: [...subtask.attempts, { attempt, childRunId, reason: subtask.nextReason, end: null, signalled: false }],
    }))
    return { ...dispatched, children: { ...state.children, [childRunId]: newChild(childRunId) } }
  },

  ChildRunning: (state: CoordinatorState, { subtaskId }: ChangeOf<"ChildRunning">) =>
    withSubtasks(state, [subtaskId], (subtask) => ({ ...subtask, status: "running" })),

  ChildSettled: (state: CoordinatorState, { subtaskId, end }: ChangeOf<"ChildSettled">) =>
    withSubtasks(state, [subtaskId], (subtask) => ({ ...ended(subtask, end), status: statusAfter[end] })),

  ChildStalled: (state: CoordinatorState, { subtaskId, redispatched }: ChangeOf<"ChildStalled">) =>
    withSubtasks(state, [subtaskId], (subtask) =>
      redispatched
        ? {
            ...resetTo(subtask, "stall_redispatch", "stalled"),
            recoveryAttempts: subtask.recoveryAttempts + 1,
          }
        : { ...ended(subtask, "stalled"), status: "failed" },
    ),

  DependentsMoved: (state: CoordinatorState, { blocked, unblocked }: ChangeOf<"DependentsMoved">) =>
    withSubtasks(state, [...blocked, ...unblocked], (subtask) => ({
      ...subtask,
      status: blocked.includes(subtask.subtaskId) ? "blocked" : "pending",
    })),

  ChildrenCompleted: (state: CoordinatorState) => withPlan(state, { status: "awaiting_assembly" }),
}
