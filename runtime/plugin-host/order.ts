/** In which order plugins start, so that each finds running what it requires. Those that require themselves never start. */
import type { Candidate } from "#runtime/plugin-host/candidate.ts"

export interface StartOrder {
  readonly order: ReadonlyArray<Candidate>
  /** Why, for each plugin that is part of a circle. */
  readonly circles: ReadonlyMap<Candidate, string>
}

/** Otherwise the order that was given. Requirements that are not there are left to whoever starts. */
export const startOrder = (candidates: ReadonlyArray<Candidate>): StartOrder => {
  const byName = new Map<string, Candidate>()
  for (const candidate of candidates)
    if (!byName.has(candidate.plugin.name)) byName.set(candidate.plugin.name, candidate)
  const order: Array<Candidate> = []
  const circles = new Map<Candidate, string>()
  const done = new Set<Candidate>()

  const visit = (candidate: Candidate, path: ReadonlyArray<Candidate>): void => {
    const at = path.indexOf(candidate)
    if (at >= 0) {
      const circle = path.slice(at)
      const names = [...circle, candidate].map(({ plugin }) => plugin.name).join(" → ")
      for (const member of circle) circles.set(member, `It requires itself: ${names}.`)
      return
    }
    if (done.has(candidate)) return
    for (const name of candidate.plugin.requires ?? []) {
      const required = byName.get(name)
      if (required !== undefined) visit(required, [...path, candidate])
    }
    done.add(candidate)
    order.push(candidate)
  }
  for (const candidate of candidates) visit(candidate, [])
  return { order, circles }
}
