import type { Answer, Ask, SteeringSignal, SubtaskView } from "./question.ts"

/** Rejections after which another agent takes over. svc itself locks an author out at the first one. */
const patience = 2
const gates: ReadonlyArray<SteeringSignal["source"]> = ["human-review", "rai", "rubberduck", "build-test"]

/**
 * An own lockout rule: an author may mend its own work once, before it is locked out. It applies to a rejection of subtasks that
 * are named; everything else, the second rejection among it, is svc's to decide.
 */
export const decide = ({ signal, plan, budgets }: Ask): Answer => {
  const rejected = gates.includes(signal.source) && signal.verb === "redirect" && signal.severity !== "advisory"
  if (!rejected || budgets.steeringIterationsUsed >= budgets.steeringIterationsPerPlan) return null
  const named = signal.targetScope.subtaskIds ?? []
  const authors = plan.subtasks.filter(({ subtaskId }) => named.includes(subtaskId))
  if (authors.length === 0 || authors.some(({ recoveryAttempts }) => recoveryAttempts + 1 >= patience)) return null
  return {
    decision: "dispatch_fresh",
    rationale: "author_mends_once",
    subtaskIds: authors.map(({ subtaskId }) => subtaskId),
    implicatedSubtaskIds: authors.map(({ subtaskId }) => subtaskId),
    assignments: authors.map(unchanged),
    attempt: Math.max(...authors.map(({ recoveryAttempts }) => recoveryAttempts)) + 1,
  }
}

const unchanged = ({ subtaskId, assignedAgent, lockedOutAgents }: SubtaskView) => ({
  subtaskId,
  assignedAgent,
  lockedOutAgents,
})
