/**
 * What a policy may decide, and what not: its answer is held to the plan and to the budgets before anything is done.
 * A policy is free to choose; it cannot name what is not there, give work to whom it does not fit, or go on for ever.
 */
import type { Assignment, SteeringAnswer, SteeringAsk, SubtaskView } from "#policies/steering/model.ts"

export interface Admitted {
  readonly answer: SteeringAnswer
  /** What was not taken as it was answered; empty where all was. */
  readonly corrections: ReadonlyArray<string>
}

export const admit = ({ signal, plan, budgets }: SteeringAsk, given: SteeringAnswer): Admitted => {
  const corrections: Array<string> = []
  const corrected = <A>(value: A, otherwise: A, reason: string): A => {
    if (JSON.stringify(value) === JSON.stringify(otherwise)) return value
    corrections.push(reason)
    return otherwise
  }
  const byPerson = signal.source === "human-review"
  const mayReset = byPerson && signal.verb !== "dispatch-fresh"
  const resetBudgets = corrected(given.resetBudgets, given.resetBudgets && mayReset, "only_a_person_resets_budgets")
  const known = (ids: ReadonlyArray<number>) =>
    plan.subtasks.map(({ subtaskId }) => subtaskId).filter((id) => ids.includes(id))
  const answer = { ...given, resetBudgets }
  if (given.decision === "advisory" || given.decision === "proceed") {
    return { answer: { ...answer, subtaskIds: known(given.subtaskIds) }, corrections }
  }

  const subtaskIds = corrected(ascending(given.subtaskIds), ascending(known(given.subtaskIds)), "unknown_subtasks")
  const inPlace = given.decision === "in_place_steer"
  const asked = subtaskIds.filter((id) => inPlace || !given.dependentSubtaskIds.includes(id))
  const named = known(given.implicatedSubtaskIds).filter((id) => subtaskIds.includes(id))
  const implicatedSubtaskIds = inPlace || named.length === 0 ? asked : named
  const targets = plan.subtasks.filter(({ subtaskId }) => implicatedSubtaskIds.includes(subtaskId))
  const refused = refusal(targets, { byPerson, resetBudgets }, budgets)
  if (refused !== undefined) {
    return {
      answer: {
        ...answer,
        decision: "proceed",
        rationale: refused,
        subtaskIds,
        assignments: [],
        escalation: "human_review",
      },
      corrections: [...corrections, refused],
    }
  }
  const used = targets.map(({ recoveryAttempts }) => (resetBudgets ? 0 : recoveryAttempts))
  const attempt = Math.max(0, ...used) + 1
  const resumable = plan.subtasks.filter((s) => subtaskIds.includes(s.subtaskId)).every((s) => s.resumable)
  const { escalation: _, ...rest } = answer
  const decided = { ...rest, subtaskIds, implicatedSubtaskIds, attempt }
  if (inPlace && resumable) {
    return { answer: { ...decided, dependentSubtaskIds: [], assignments: [] }, corrections }
  }
  if (inPlace) corrections.push("not_resumable")
  return {
    answer: {
      ...decided,
      decision: "dispatch_fresh",
      rationale: inPlace ? "not_resumable" : given.rationale,
      dependentSubtaskIds: subtaskIds.filter((id) => !implicatedSubtaskIds.includes(id)),
      assignments: plan.subtasks
        .filter(({ subtaskId }) => subtaskIds.includes(subtaskId))
        .map((subtask) => {
          const wanted = given.assignments.find((each) => each.subtaskId === subtask.subtaskId) ?? same(subtask)
          return corrected(wanted, fits(subtask, wanted) ? wanted : same(subtask), "agent_not_eligible")
        }),
    },
    corrections: [...new Set(corrections)],
  }
}

const ascending = (ids: ReadonlyArray<number>): ReadonlyArray<number> => [...new Set(ids)].sort((a, b) => a - b)

/** Why none of it may be done. */
const refusal = (
  targets: ReadonlyArray<SubtaskView>,
  { byPerson, resetBudgets }: { readonly byPerson: boolean; readonly resetBudgets: boolean },
  budgets: SteeringAsk["budgets"],
): string | undefined => {
  if (targets.length === 0) return "target_not_found"
  if (resetBudgets) return undefined
  const over = budgets.steeringIterationsUsed >= budgets.steeringIterationsPerPlan
  if (!byPerson && over) return "steering_budget_exhausted"
  return targets.some(({ recoveryAttempts }) => recoveryAttempts >= budgets.recoveryAttemptsPerSubtask)
    ? "recovery_attempts_exhausted"
    : undefined
}

const same = ({ subtaskId, assignedAgent, lockedOutAgents }: SubtaskView): Assignment => ({
  subtaskId,
  assignedAgent,
  lockedOutAgents,
})

const fits = ({ assignedAgent, eligibleAgents }: SubtaskView, wanted: Assignment): boolean =>
  (wanted.assignedAgent === assignedAgent || eligibleAgents.includes(wanted.assignedAgent)) &&
  !wanted.lockedOutAgents.includes(wanted.assignedAgent)
