/** Changes from the integration of the children's work to the merge, and every end. */
import type { ChangeOf } from "#runtime/coordinator/change.ts"
import {
  dispatchingAgain,
  ended,
  planOf,
  resetTo,
  withAssembly,
  withPlan,
  withRun,
  withSubtasks,
} from "#runtime/coordinator/evolve/parts.ts"
import { withFeedback } from "#runtime/coordinator/limits.ts"
import {
  type CoordinatorState,
  isEligible,
  isGate,
  liveAttempt,
  type Stage,
  stageAfter,
} from "#runtime/coordinator/state.ts"

const atStage = (state: CoordinatorState, stage: Stage): CoordinatorState =>
  withAssembly(withPlan(state, { status: "assembling", statusReason: null }), { stage, gateId: null })

/** On to what follows the stage that the plan is at. */
export const onward = (state: CoordinatorState): CoordinatorState => {
  const { assembly, gates } = planOf(state)
  return atStage(state, stageAfter(assembly.stage ?? "integrate", gates))
}

/** A person decides on what was assembled, whatever the gates would still have said. */
export const toReview = (state: CoordinatorState, reason: string): CoordinatorState =>
  withAssembly(atStage(state, "review"), { reason, approvedTreeHash: null, approvedBy: null })

/** The children of a run that ends stop with it; what has not begun never does. */
const childrenStopped = (state: CoordinatorState): CoordinatorState => {
  const live = planOf(state).subtasks.filter((subtask) => liveAttempt(subtask) !== undefined)
  return withSubtasks(
    state,
    live.map(({ subtaskId }) => subtaskId),
    (subtask) => ({ ...ended(subtask, "stopped"), status: "failed" }),
  )
}

/** As the database settles it where a run is cancelled. */
const cancelled = (state: CoordinatorState): CoordinatorState => {
  const { spec, plan } = state
  const declined = spec?.status === "awaiting_confirmation" ? { ...spec, status: "declined" as const } : spec
  const settled = { ...state, spec: declined }
  return plan === null
    ? settled
    : withPlan(childrenStopped(settled), { status: "cancelled", statusReason: "steering_stop" })
}

export const assemblySteps = {
  AssemblyStarted: (state: CoordinatorState) =>
    withAssembly(atStage(state, "integrate"), { round: planOf(state).assembly.round + 1 }),

  AssemblyBlocked: (state: CoordinatorState, { reason }: ChangeOf<"AssemblyBlocked">) =>
    withPlan(state, { status: "assembly_blocked", statusReason: reason }),

  /** It is told, and nothing else: the integration goes on. */
  ConflictSettled: (state: CoordinatorState) => state,

  Integrated: (state: CoordinatorState, { commit, treeHash, hasChanges }: ChangeOf<"Integrated">) => {
    const { subtasks } = planOf(state)
    const integrated = withAssembly(hasChanges ? onward(state) : atStage(state, "scribe"), {
      commit,
      treeHash,
      hasChanges,
      included: subtasks.filter(isEligible).map(({ subtaskId }) => subtaskId),
      approvedTreeHash: null,
      approvedBy: null,
    })
    return integrated
  },

  IntegrationConflicted: (state: CoordinatorState, { subtaskId, final }: ChangeOf<"IntegrationConflicted">) => {
    const onTop = withSubtasks(state, [subtaskId], (subtask) => ({ ...subtask, onTop: true }))
    return final ? withPlan(onTop, { status: "needs_resolution", statusReason: "integration_conflict" }) : onTop
  },

  GateStarted: (state: CoordinatorState, { gateId }: ChangeOf<"GateStarted">) => withAssembly(state, { gateId }),

  GatePassed: (state: CoordinatorState) => onward(state),

  GateRejected: (state: CoordinatorState) => withAssembly(state, { gateId: null }),

  RaiBlocked: (state: CoordinatorState, { reason }: ChangeOf<"RaiBlocked">) =>
    withAssembly(withPlan(state, { status: "rai_blocked", statusReason: reason }), { gateId: null }),

  ReviewRequested: (state: CoordinatorState, { gateId }: ChangeOf<"ReviewRequested">) =>
    withRun(withAssembly(withPlan(state, { status: "in_review" }), { gateId }), { status: "awaiting_review" }),

  /** In review it is the approval of that tree; where the responsible-AI pass blocks, it lets the assembly go on. */
  ReviewApproved: (state: CoordinatorState, { by }: ChangeOf<"ReviewApproved">) => {
    const { status, assembly } = planOf(state)
    if (status === "rai_blocked") return onward(state)
    return withRun(
      withAssembly(atStage(state, "merge"), { approvedTreeHash: assembly.treeHash, approvedBy: by, reason: null }),
      { status: "merging" },
    )
  },

  ReviewDeclined: (state: CoordinatorState, { reason }: ChangeOf<"ReviewDeclined">) =>
    withRun(withPlan(state, { status: "assembly_declined", statusReason: reason }), {
      status: "declined",
      result: "declined",
    }),

  Merged: (state: CoordinatorState, { commit }: ChangeOf<"Merged">) =>
    withAssembly(onward(state), { mergedCommit: commit }),

  MergeBlocked: (state: CoordinatorState, { reason }: ChangeOf<"MergeBlocked">) =>
    withRun(toReview(state, reason), { status: "awaiting_review" }),

  MergeConflicted: (state: CoordinatorState, { reason }: ChangeOf<"MergeConflicted">) =>
    withRun(
      withAssembly(withPlan(state, { status: "needs_resolution", statusReason: reason }), {
        approvedTreeHash: null,
        approvedBy: null,
      }),
      { status: "awaiting_review" },
    ),

  Scribed: (state: CoordinatorState) => onward(state),

  Completed: (state: CoordinatorState) => {
    const { mergedCommit } = planOf(state).assembly
    const complete = withPlan(state, { status: "complete", statusReason: null })
    return mergedCommit === null
      ? withRun(complete, { status: "completed", result: "no_changes" })
      : withRun(complete, { status: "merged", result: `merged:${mergedCommit}` })
  },

  Failed: (state: CoordinatorState, { reason, message }: ChangeOf<"Failed">) => {
    const failed = withRun(state, { status: "failed", result: reason })
    return failed.plan === null
      ? failed
      : withPlan(childrenStopped(failed), { status: "assembly_failed", statusReason: message })
  },

  Stopped: (state: CoordinatorState) => withRun(cancelled(state), { status: "failed", result: "steering_stop" }),

  Rearmed: (state: CoordinatorState, { feedback }: ChangeOf<"Rearmed">): CoordinatorState => {
    const { status, assembly, subtasks } = planOf(state)
    const active = state.run.status === "awaiting_review" ? withRun(state, { status: "in_progress" }) : state
    if (status === "needs_resolution") {
      return withAssembly(atStage(active, "integrate"), { round: assembly.round + 1, commit: null, treeHash: null })
    }
    // asked once more: what was assembled is still what would be merged
    if (isGate(assembly.stage) || assembly.stage === "review")
      return withAssembly(atStage(active, assembly.stage), { round: assembly.round + 1 })
    const lost = subtasks.filter((subtask) => !isEligible(subtask)).map(({ subtaskId }) => subtaskId)
    return withPlan(
      withSubtasks(dispatchingAgain(active), lost, (subtask) => ({
        ...resetTo(subtask, "rearmed", "redirected"),
        recoveryAttempts: 0,
        // what has not been tried has nothing to do better
        feedback: subtask.attempts.length === 0 ? subtask.feedback : withFeedback(subtask.feedback, feedback),
      })),
      { steeringIterations: 0 },
    )
  },
}
