/** What whoever takes a run over tells: where it goes on, and what it looks at or takes up again for that. */
import { CoordinatorRecovered } from "#core/run/events/coordinator.ts"
import { isOpen } from "#runtime/coordinator/next/steering.ts"
import { type CoordinatorState, liveAttempt } from "#runtime/coordinator/state.ts"

export const recovered = ({ plan, directives }: CoordinatorState) => {
  if (plan === null) return CoordinatorRecovered.of({ status: "drafting" })
  const { status, workPlanId } = plan
  const directive = directives.find(isOpen)
  if (directive !== undefined) {
    const { directiveId, targets, signal } = directive
    return CoordinatorRecovered.of({
      ...{ status, workPlanId, directiveId, reason: "steering_resume" },
      ...{ resetSubtaskIds: targets, instruction: signal.feedback },
    })
  }
  if (status !== "dispatching") return CoordinatorRecovered.of({ status })
  const working = plan.subtasks.filter((subtask) => liveAttempt(subtask) !== undefined)
  const reObservedSubtaskIds = working.map(({ subtaskId }) => subtaskId)
  return CoordinatorRecovered.of({ status, workPlanId, reason: "dispatch_rearm", reObservedSubtaskIds })
}
