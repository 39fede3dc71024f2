/** Events from the outcome spec to the last child. */
import type { NewEvent } from "#core/event.ts"
import {
  ChildrenComplete,
  ChildStallDetected,
  DecompositionAdjusted,
  OutcomeSpecConfirmed,
  OutcomeSpecPresented,
  OutcomeSpecRevised,
  SubtaskAssembleReady,
  SubtaskCompleted,
  SubtaskDispatched,
  SubtaskFailed,
  SubtaskRaiFlagged,
  SubtaskRedispatched,
  SubtaskRunning,
  WorkPlanDrafted,
} from "#core/run/events/coordinator.ts"
import { tiesOf } from "#runtime/coordinator/dependencies.ts"
import type { Told } from "#runtime/coordinator/events/told.ts"
import { planOf, subtaskOf } from "#runtime/coordinator/evolve/parts.ts"
import { type CoordinatorState, lastAttempt } from "#runtime/coordinator/state.ts"

const none = (): ReadonlyArray<NewEvent> => []

/** What a `subtask.*` event says of the subtask as it is now. */
const subtaskPayload = (state: CoordinatorState, subtaskId: number) => {
  const subtask = subtaskOf(planOf(state), subtaskId)
  const last = lastAttempt(subtask)
  return {
    subtaskId,
    childRunId: last?.childRunId ?? "",
    assignedAgent: subtask.assignedAgent,
    selectedModelId: subtask.selectedModelId,
    status: subtask.status,
    ...(last === undefined ? {} : { attempt: last.attempt, reason: last.reason }),
  }
}

export const specPresented = ({ spec, run }: CoordinatorState): ReadonlyArray<NewEvent> => {
  if (spec === null) return []
  const { specId, status, desiredOutcome, scope, assumptions, clarifyingQuestions } = spec
  return [
    OutcomeSpecPresented.of({
      specId,
      status,
      goal: run.goal,
      desiredOutcome,
      scope,
      assumptions,
      ...(clarifyingQuestions === null ? {} : { clarifyingQuestions }),
    }),
  ]
}

const settledTypes = {
  assemble_ready: SubtaskAssembleReady,
  completed: SubtaskCompleted,
  rai_flagged: SubtaskRaiFlagged,
  failed: SubtaskFailed,
  stopped: SubtaskFailed,
}

export const planEvents = {
  Started: none,

  SpecDrafted: ({ after }: Told<"SpecDrafted">) => specPresented(after),

  SpecConfirmed: ({ after: { spec }, change }: Told<"SpecConfirmed">) =>
    spec === null ? [] : [OutcomeSpecConfirmed.of({ specId: spec.specId, confirmedBy: change.by })],

  SpecRevised: ({ after: { spec }, change }: Told<"SpecRevised">) =>
    spec === null
      ? []
      : [OutcomeSpecRevised.of({ specId: spec.specId, feedback: change.feedback, revisedBy: change.by })],

  SpecDeclined: none,

  PlanDrafted: ({ change, after }: Told<"PlanDrafted">) => {
    const { needs } = tiesOf(change.dependencies)
    const { workPlanId, workflowId, subtasks, dependencies, adjustments } = change
    const drafted = WorkPlanDrafted.of({
      workPlanId,
      status: planOf(after).status,
      workflowId,
      subtasks: subtasks.map(({ subtaskId, title, assignedAgent, selectedModelId, phase, isolation }) => ({
        id: subtaskId,
        title,
        assignedAgent,
        selectedModelId,
        phase,
        isolation,
        dependsOn: needs.get(subtaskId) ?? [],
      })),
      dependencies,
    })
    return adjustments.length === 0 ? [drafted] : [DecompositionAdjusted.of({ workPlanId, adjustments }), drafted]
  },

  DispatchBegan: none,

  Dispatched: ({ change, after }: Told<"Dispatched">) => [
    SubtaskDispatched.of(subtaskPayload(after, change.subtaskId)),
  ],

  ChildRunning: ({ change, after }: Told<"ChildRunning">) => [
    SubtaskRunning.of(subtaskPayload(after, change.subtaskId)),
  ],

  ChildSettled: ({ change, after }: Told<"ChildSettled">) => [
    settledTypes[change.end].of(subtaskPayload(after, change.subtaskId)),
  ],

  ChildStalled: ({ before, change, after, at }: Told<"ChildStalled">) => {
    const { subtaskId, childRunId, staleSince, lastSequence, redispatched } = change
    const detected = ChildStallDetected.of({
      childRunId,
      subtaskId,
      staleSinceUtc: new Date(staleSince).toISOString(),
      stallTimeoutMinutes: before.limits.stallMinutes,
      lastEventSequence: lastSequence,
    })
    return redispatched
      ? [
          detected,
          SubtaskRedispatched.of({
            subtaskId,
            priorChildRunId: childRunId,
            attempt: subtaskOf(planOf(after), subtaskId).recoveryAttempts,
            maxAttempts: before.limits.recoveryAttempts,
            reason: "stall_redispatch",
            timestamp_utc: at,
          }),
        ]
      : [detected, SubtaskFailed.of(subtaskPayload(after, subtaskId))]
  },

  DependentsMoved: none,

  ChildrenCompleted: ({ after }: Told<"ChildrenCompleted">) => {
    const { workPlanId, subtasks } = planOf(after)
    const count = (...statuses: ReadonlyArray<string>) =>
      subtasks.filter(({ status }) => statuses.includes(status)).length
    return [
      ChildrenComplete.of({
        workPlanId,
        completed: count("completed"),
        assembleReady: count("assemble_ready"),
        failed: count("failed", "rai_flagged", "blocked"),
        total: subtasks.length,
      }),
    ]
  },
}
