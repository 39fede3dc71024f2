/** In which order the work of subtasks is put together, and what a child starts from. */
import { isEligible, type Subtask, type WorkPlan } from "#runtime/coordinator/state.ts"

/** What this one depends on, directly or not; nothing of it twice, and no cycle is followed for ever. */
export const prerequisitesOf = (
  { dependencies }: Pick<WorkPlan, "dependencies">,
  subtaskId: number,
): ReadonlySet<number> => {
  const reached = new Set<number>()
  const open = [subtaskId]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const edge of dependencies) {
      if (edge.subtaskId !== id || reached.has(edge.dependsOnSubtaskId)) continue
      reached.add(edge.dependsOnSubtaskId)
      open.push(edge.dependsOnSubtaskId)
    }
  }
  return reached
}

/**
 * Every subtask after those it depends on, otherwise as planned; one that was done again on top of the others comes
 * as late as what depends on it allows.
 */
export const inOrder = (plan: Pick<WorkPlan, "subtasks" | "dependencies">): ReadonlyArray<Subtask> => {
  const ordered: Array<Subtask> = []
  const waiting = [...plan.subtasks].sort((a, b) => a.ordinal - b.ordinal)
  const late = lateOnes(plan)
  while (waiting.length > 0) {
    const ready = waiting.filter((subtask) => {
      const before = prerequisitesOf(plan, subtask.subtaskId)
      return waiting.every((other) => other === subtask || !before.has(other.subtaskId))
    })
    const next = ready.find(({ subtaskId }) => !late.has(subtaskId)) ?? ready[0] ?? waiting[0]
    if (next === undefined) break
    ordered.push(next)
    waiting.splice(waiting.indexOf(next), 1)
  }
  return ordered
}

/** Those done again on top, and what depends on them. */
const lateOnes = (plan: Pick<WorkPlan, "subtasks" | "dependencies">): ReadonlySet<number> => {
  const onTop = plan.subtasks.filter((subtask) => subtask.onTop).map(({ subtaskId }) => subtaskId)
  return new Set(
    plan.subtasks
      .map(({ subtaskId }) => subtaskId)
      .filter((id) => onTop.includes(id) || onTop.some((top) => prerequisitesOf(plan, id).has(top))),
  )
}

export const integrationOrder = (plan: WorkPlan): ReadonlyArray<number> =>
  inOrder(plan)
    .filter(isEligible)
    .map(({ subtaskId }) => subtaskId)

/** The subtasks whose work a fresh child of this one finds in its checkout. */
export const baseOf = (plan: WorkPlan, subtask: Subtask): ReadonlyArray<number> => {
  const before = prerequisitesOf(plan, subtask.subtaskId)
  return inOrder(plan)
    .filter(isEligible)
    .filter(
      ({ subtaskId }) =>
        before.has(subtaskId) ||
        (subtask.onTop && subtaskId !== subtask.subtaskId && !prerequisitesOf(plan, subtaskId).has(subtask.subtaskId)),
    )
    .map(({ subtaskId }) => subtaskId)
}
