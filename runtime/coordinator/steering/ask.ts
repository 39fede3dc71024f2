/** The question that `steering.decide` is asked about a directive. */
import type { SteeringAsk, SubtaskView } from "#policies/steering/model.ts"
import { planOf } from "#runtime/coordinator/evolve/parts.ts"
import {
  type CoordinatorState,
  childOf,
  type Directive,
  lastAttempt,
  type Subtask,
} from "#runtime/coordinator/state.ts"

export const steeringAsk = (state: CoordinatorState, { signal }: Directive): SteeringAsk => {
  const plan = planOf(state)
  return {
    signal,
    plan: {
      workPlanId: plan.workPlanId,
      status: plan.status,
      reviewGateArmed: plan.status === "in_review" || plan.assembly.returnTo === "in_review",
      subtasks: plan.subtasks.map((subtask) => subtaskView(state, subtask)),
      dependencies: plan.dependencies,
    },
    budgets: {
      recoveryAttemptsPerSubtask: state.limits.recoveryAttempts,
      steeringIterationsPerPlan: state.limits.steeringIterations,
      steeringIterationsUsed: plan.steeringIterations,
    },
  }
}

export const subtaskView = (state: CoordinatorState, subtask: Subtask): SubtaskView => {
  const child = state.children[lastAttempt(subtask)?.childRunId ?? ""]
  const touchedFiles = child?.touchedFiles ?? []
  return {
    subtaskId: subtask.subtaskId,
    status: subtask.status,
    assignedAgent: subtask.assignedAgent,
    childRunId: childOf(subtask),
    resumable: child?.resumable ?? false,
    hasContext: subtask.feedback.length > 0 || touchedFiles.length > 0,
    touchedFiles,
    eligibleAgents: eligibleAgents(state, subtask),
    lockedOutAgents: subtask.lockedOutAgents,
    recoveryAttempts: subtask.recoveryAttempts,
  }
}

/** Who has the role of the subtask; the one who has the subtask comes first. */
const eligibleAgents = ({ roster }: CoordinatorState, { assignedAgent, role }: Subtask): ReadonlyArray<string> => [
  ...new Set([assignedAgent, ...roster.filter((member) => member.role === role).map(({ agent }) => agent)]),
]
