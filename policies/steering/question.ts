/**
 * `steering.decide`: a gate, an agent or a person wants something changed; what does the coordinator do?
 * The answer says all that follows from it (who is locked out, who takes over, what is reset), so that carrying
 * it out needs no second opinion.
 */
import { decideQuestion } from "#core/hook.ts"
import { SteeringAnswer, SteeringAsk } from "#policies/steering/model.ts"
import { steer } from "#policies/steering/steer.ts"

export const steeringDecide = decideQuestion({
  name: "steering.decide",
  summary: "A steering signal arrived for a coordinator run.",
  ask: SteeringAsk,
  answer: SteeringAnswer,
  builtIn: steer,
  essence: ({ decision, subtaskIds, escalation, disposition, assignments }) => ({
    decision,
    subtaskIds: subtaskIds.toSorted((a, b) => a - b),
    assignments: assignments.toSorted((a, b) => a.subtaskId - b.subtaskId),
    escalation,
    disposition,
  }),
})
