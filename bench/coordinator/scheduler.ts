/** The floor: a scheduler in memory that knows of nothing but dependencies and how many may work at a time. */
import { edgesOf } from "#bench/coordinator/plans.ts"
import { defaultLimits } from "#runtime/coordinator/limits.ts"

/** Milliseconds for one subtask, in a plan of so many whose agents are through at once. */
export const schedule = async (count: number): Promise<number> => {
  const edges = edgesOf(count)
  const rounds = Math.ceil(100_000 / count)
  const begin = performance.now()
  for (let n = 0; n < rounds; n++) await once(count, edges)
  return (performance.now() - begin) / rounds / count
}

const once = async (count: number, edges: ReturnType<typeof edgesOf>): Promise<void> => {
  const missing = new Map<number, number>()
  const next = new Map<number, Array<number>>()
  for (const [item, dependsOn] of edges) {
    missing.set(item, (missing.get(item) ?? 0) + 1)
    next.set(dependsOn, [...(next.get(dependsOn) ?? []), item])
  }
  const startable = Array.from({ length: count }, (_, index) => index + 1).filter((item) => !missing.has(item))
  let done = 0
  const agent = async (): Promise<void> => {
    for (let item = startable.shift(); item !== undefined; item = startable.shift()) {
      await Promise.resolve()
      done += 1
      for (const waiting of next.get(item) ?? []) {
        const left = (missing.get(waiting) ?? 1) - 1
        missing.set(waiting, left)
        if (left === 0) startable.push(waiting)
      }
    }
  }
  // whoever finds nothing to start comes again as long as others work
  while (done < count) await Promise.all(Array.from({ length: defaultLimits.width }, agent))
}
