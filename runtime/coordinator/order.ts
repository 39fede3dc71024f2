/** In which order the work of subtasks is put together, and what a child starts from. */
import { reachedFrom, tiesOf } from "#runtime/coordinator/dependencies.ts"
import { isEligible, type Subtask, type WorkPlan } from "#runtime/coordinator/state.ts"

/** More than any ordinal. */
const lateFrom = 2 ** 32

type Parts = Pick<WorkPlan, "subtasks" | "dependencies">

/**
 * Every subtask after those it depends on, otherwise as planned; one that was done again on top of the others comes
 * as late as what depends on it allows. The order of some of them alone is the same, where what they depend on is
 * among them.
 */
export const inOrder = ({ subtasks, dependencies }: Parts): ReadonlyArray<Subtask> => {
  const { needs, neededBy } = tiesOf(dependencies)
  const onTop = subtasks.filter((subtask) => subtask.onTop).map(({ subtaskId }) => subtaskId)
  const late = onTop.length === 0 ? new Set<number>() : new Set([...onTop, ...reachedFrom(neededBy, onTop)])
  const byId = new Map(subtasks.map((subtask) => [subtask.subtaskId, subtask]))
  const rank = ({ subtaskId, ordinal }: Subtask) => (late.has(subtaskId) ? lateFrom : 0) + ordinal
  const missing = new Map(
    subtasks.map(({ subtaskId }) => [subtaskId, (needs.get(subtaskId) ?? []).filter((id) => byId.has(id)).length]),
  )
  const ready: Array<Subtask> = []
  // the next one is at the end
  const makeReady = (subtask: Subtask): void => {
    const at = ready.findIndex((other) => rank(other) < rank(subtask))
    ready.splice(at === -1 ? ready.length : at, 0, subtask)
  }
  for (const subtask of subtasks) if (missing.get(subtask.subtaskId) === 0) makeReady(subtask)
  const ordered: Array<Subtask> = []
  for (let next = ready.pop(); next !== undefined; next = ready.pop()) {
    ordered.push(next)
    for (const id of neededBy.get(next.subtaskId) ?? []) {
      const waiting = byId.get(id)
      const left = (missing.get(id) ?? 0) - 1
      missing.set(id, left)
      if (left === 0 && waiting !== undefined) makeReady(waiting)
    }
  }
  // in a circle nobody comes first; nobody is left out for it
  return ordered.length === subtasks.length ? ordered : [...new Set([...ordered, ...subtasks])]
}

export const integrationOrder = (plan: WorkPlan): ReadonlyArray<number> =>
  inOrder(plan)
    .filter(isEligible)
    .map(({ subtaskId }) => subtaskId)

/** The subtasks whose work a fresh child of this one finds in its checkout. */
export const baseOf = ({ subtasks, dependencies }: Parts, subtask: Subtask): ReadonlyArray<number> => {
  const { needs, neededBy } = tiesOf(dependencies)
  const above = reachedFrom(needs, [subtask.subtaskId])
  const below = subtask.onTop ? reachedFrom(neededBy, [subtask.subtaskId]) : undefined
  const found = ({ subtaskId }: Subtask) =>
    above.has(subtaskId) || (below !== undefined && subtaskId !== subtask.subtaskId && !below.has(subtaskId))
  return inOrder({ subtasks: subtasks.filter(found), dependencies })
    .filter(isEligible)
    .map(({ subtaskId }) => subtaskId)
}
