/** Who stands on whom, found without a search through all dependencies. Plans change; their dependencies do not. */
import type { Dependency } from "#runtime/coordinator/state.ts"

export interface Ties {
  /** What a subtask depends on, directly. */
  readonly needs: ReadonlyMap<number, ReadonlyArray<number>>
  /** What depends on it, directly. */
  readonly neededBy: ReadonlyMap<number, ReadonlyArray<number>>
}

const known = new WeakMap<ReadonlyArray<Dependency>, Ties>()

export const tiesOf = (dependencies: ReadonlyArray<Dependency>): Ties => {
  const found = known.get(dependencies)
  if (found !== undefined) return found
  const needs = new Map<number, Array<number>>()
  const neededBy = new Map<number, Array<number>>()
  for (const { subtaskId, dependsOnSubtaskId } of dependencies) {
    add(needs, subtaskId, dependsOnSubtaskId)
    add(neededBy, dependsOnSubtaskId, subtaskId)
  }
  const ties = { needs, neededBy }
  known.set(dependencies, ties)
  return ties
}

const add = (lists: Map<number, Array<number>>, key: number, value: number): void => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

/** All that is reached from these by one or more ties; one of these only where a circle leads back to it. */
export const reachedFrom = (
  ties: ReadonlyMap<number, ReadonlyArray<number>>,
  from: Iterable<number>,
): ReadonlySet<number> => {
  const reached = new Set<number>()
  const open = [...from]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const next of ties.get(id) ?? []) {
      if (reached.has(next)) continue
      reached.add(next)
      open.push(next)
    }
  }
  return reached
}
