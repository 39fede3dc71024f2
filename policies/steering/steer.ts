/**
 * The service's own steering. In order:
 *
 * 1. A note (`advisory`, or a `send` while a person reviews) changes nothing; a `stop` ends it.
 * 2. A person who wants changes starts the budgets anew; without one, an exhausted budget asks a person. To want the
 *    same again (`dispatch-fresh`) spends the recoveries of a subtask, by whomever it is wanted.
 * 3. Who is meant: those named, the authors of the named files, or all who contributed.
 * 4. A correction (`amend`, `send`) goes to the same child while it can be resumed; else a fresh one is dispatched
 *    to the same agent, for it was not the agent's fault.
 * 5. A gate's rejection locks out the authors who are meant, and nobody else. What depends on them is
 *    dispatched again with its own agents. A person who redirects work before it is assembled rejects nobody.
 * 6. Where the lockout leaves nobody: the same agent again, if there is something to start from; else a person.
 */
import type { Assignment, SteeringAnswer, SteeringAsk, SteeringSignal, SubtaskView } from "#policies/steering/model.ts"
import { dependentsOf, scopeOf } from "#policies/steering/scope.ts"

const gates: ReadonlySet<SteeringSignal["source"]> = new Set(["human-review", "rai", "rubberduck", "build-test"])

/** A gate has seen the work; a person has where the feedback is about an assembled tree. */
const rejects = ({ source, treeHash }: SteeringSignal): boolean =>
  gates.has(source) && (source !== "human-review" || treeHash !== null)

export const steer = ({ signal, plan, budgets }: SteeringAsk): SteeringAnswer => {
  const { verb, severity, source } = signal
  if (verb === "stop")
    return { ...nothing, decision: "proceed", rationale: "stop_requested", subtaskIds: named(signal) }
  if (severity === "advisory") return { ...nothing, rationale: "advisory_signal" }
  if (verb === "send" && plan.reviewGateArmed) return { ...nothing, rationale: "advisory_note" }

  const byPerson = source === "human-review"
  const resetBudgets = byPerson && verb !== "dispatch-fresh"
  if (!byPerson && budgets.steeringIterationsUsed >= budgets.steeringIterationsPerPlan) {
    return escalate("steering_budget_exhausted")
  }
  const { implicated, fallback } = scopeOf(signal, plan)
  if (implicated.length === 0) {
    return {
      ...escalate(fallback === null ? "target_not_found" : "no_contributors"),
      resetBudgets,
      scopeFallback: fallback,
    }
  }
  const found = { resetBudgets, scopeFallback: fallback, implicatedSubtaskIds: idsOf(implicated) }

  const attempts = (subtask: SubtaskView) => (resetBudgets ? 0 : subtask.recoveryAttempts)
  const exhausted = implicated.filter((subtask) => attempts(subtask) >= budgets.recoveryAttemptsPerSubtask)
  if (exhausted.length > 0) return { ...escalate("recovery_attempts_exhausted", exhausted), ...found }
  const attempt = Math.max(...implicated.map(attempts)) + 1

  const corrects = verb === "amend" || verb === "send"
  if (corrects && implicated.every(({ resumable }) => resumable)) {
    return {
      ...nothing,
      ...found,
      decision: "in_place_steer",
      rationale: "context_preserved",
      subtaskIds: idsOf(implicated),
      attempt,
    }
  }
  const reassigned = implicated.map(rejects(signal) && !corrects ? lockOut : sameAgent)
  const stuck = implicated.filter((_, index) => reassigned[index] === undefined)
  if (stuck.length > 0) return { ...escalate("lockout_no_context", stuck), ...found }
  const takeovers = reassigned.filter((reassignment) => reassignment !== undefined)

  const dependents = dependentsOf(implicated, plan)
  return {
    ...nothing,
    ...found,
    decision: "dispatch_fresh",
    rationale: rationaleOf(signal, takeovers, corrects),
    subtaskIds: [...idsOf(implicated), ...idsOf(dependents)],
    dependentSubtaskIds: idsOf(dependents),
    assignments: [...takeovers, ...dependents.map(sameAgent)].map(({ degraded: _, ...assignment }) => assignment),
    attempt,
  }
}

const nothing: SteeringAnswer = {
  decision: "advisory",
  rationale: "",
  subtaskIds: [],
  attempt: 1,
  implicatedSubtaskIds: [],
  dependentSubtaskIds: [],
  assignments: [],
  resetBudgets: false,
  scopeFallback: null,
}

const escalate = (rationale: string, subtasks: ReadonlyArray<SubtaskView> = []): SteeringAnswer => ({
  ...nothing,
  decision: "proceed",
  rationale,
  subtaskIds: idsOf(subtasks),
  escalation: "human_review",
})

const idsOf = (subtasks: ReadonlyArray<SubtaskView>): ReadonlyArray<number> =>
  subtasks.map(({ subtaskId }) => subtaskId)

const named = ({ targetScope }: SteeringSignal): ReadonlyArray<number> => targetScope.subtaskIds ?? []

interface Reassignment extends Assignment {
  /** The lockout left nobody, so the author goes on. */
  readonly degraded: boolean
}

const sameAgent = ({ subtaskId, assignedAgent, lockedOutAgents }: SubtaskView): Reassignment => ({
  subtaskId,
  assignedAgent,
  lockedOutAgents,
  degraded: false,
})

/** Undefined where neither another agent nor anything to start from is left. */
const lockOut = (subtask: SubtaskView): Reassignment | undefined => {
  const { subtaskId, assignedAgent, eligibleAgents, hasContext } = subtask
  const lockedOutAgents = [...new Set([...subtask.lockedOutAgents, assignedAgent])]
  const next = eligibleAgents.find((agent) => !lockedOutAgents.includes(agent))
  if (next !== undefined) return { subtaskId, assignedAgent: next, lockedOutAgents, degraded: false }
  return hasContext ? { ...sameAgent(subtask), degraded: true } : undefined
}

const rationaleOf = (signal: SteeringSignal, takeovers: ReadonlyArray<Reassignment>, corrects: boolean): string => {
  if (takeovers.some(({ degraded }) => degraded)) return "single_eligible_agent"
  if (corrects) return "not_resumable"
  return rejects(signal) ? "author_locked_out" : "fresh_dispatch_requested"
}
