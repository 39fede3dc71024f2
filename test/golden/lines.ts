/** The log of what was recorded, with ids and times as they were; what sums up a state is left empty. */
import { isDeepStrictEqual } from "node:util"
import { Struct } from "effect"
import type { Action } from "#runtime/coordinator/action.ts"
import { next } from "#runtime/coordinator/next.ts"
import type { ChildView, CoordinatorState } from "#runtime/coordinator/state.ts"
import { steeringAsk } from "#runtime/coordinator/steering/ask.ts"
import { folded, type Line, type LineOf, plain } from "#test/golden/log.ts"
import type { Entry } from "#test/golden/recorder.ts"

/** Throws where the rows of a run are not what its changes come to. */
export const linesOf = (entries: ReadonlyArray<Entry>): ReadonlyArray<Line> => {
  const [first] = entries
  if (first === undefined) throw new Error("nothing was recorded")
  const lines: Array<Line> = []
  let state = first.state
  const add = (line: Line): void => {
    lines.push(line)
    state = folded(state, line)
  }
  const see = (actual: CoordinatorState): void => {
    const line = seen(state, actual)
    if (line !== undefined) add(line)
  }
  add({ _tag: "Began", state })
  let decided: ReadonlyArray<Action> | undefined
  for (const entry of entries) {
    if (entry._tag === "Looked") {
      const { now } = entry
      const actions = next(entry.state, now)
      const same = isDeepStrictEqual([decided, quiet(state)].map(plain), [actions, quiet(entry.state)].map(plain))
      // looks that find nothing new are left out
      if (same && !entry.takenOver) continue
      see(entry.state)
      if (entry.takenOver) add({ _tag: "TakenOver" })
      add({ _tag: "Decided", when: "", now, actions })
      decided = actions
      continue
    }
    // whoever only decides does not know the limits of a driver
    see(entry.by === "person" ? { ...entry.state, limits: state.limits } : entry.state)
    for (const change of entry.changes) {
      if (change._tag === "SteeringDecided") {
        const { directiveId } = change
        const directive = state.directives.find((each) => each.directiveId === directiveId)
        if (directive === undefined) throw new Error(`there is no directive ${directiveId}`)
        add({ _tag: "Asked", directiveId, question: steeringAsk(state, directive) })
      }
      add({ _tag: "Wrote", by: entry.by, change })
    }
    decided = undefined
  }
  add({ _tag: "Ended", state })
  return lines
}

/** Without what moves all the time. */
const quiet = ({ version: _, children, ...rest }: CoordinatorState) => ({
  ...rest,
  children: Object.fromEntries(
    Object.entries(children).map(([runId, child]) => [
      runId,
      { ...child, lastEventAt: 0, lastSequence: 0, stepCount: 0, executionPodName: null },
    ]),
  ),
})

const seen = (known: CoordinatorState, actual: CoordinatorState): LineOf<"Saw"> | undefined => {
  for (const part of ["startMode", "roster", "spec", "plan", "directives"] as const) {
    if (!isDeepStrictEqual(plain(known[part]), plain(actual[part]))) {
      throw new Error(`${part} in the database is not what the changes come to`)
    }
  }
  const lost = Object.keys(known.children).filter((runId) => actual.children[runId] === undefined)
  if (lost.length > 0) throw new Error(`children are gone, for which a log has no line: ${lost}`)
  const run = changed(known.run, actual.run)
  const limits = changed(known.limits, actual.limits)
  const children = Object.fromEntries(
    // in the order in which they were dispatched: the rows have none
    Object.entries({ ...known.children, ...actual.children })
      .map(([runId, child]) => [runId, changed<ChildView>(known.children[runId] ?? {}, child)] as const)
      .filter(([, members]) => !isEmpty(members)),
  )
  if (isEmpty(run) && isEmpty(limits) && isEmpty(children)) return undefined
  return {
    _tag: "Saw",
    ...(isEmpty(run) ? {} : { run }),
    ...(isEmpty(limits) ? {} : { limits }),
    ...(isEmpty(children) ? {} : { children }),
  }
}

const isEmpty = (members: object): boolean => Object.keys(members).length === 0

/** The members that are other values than before. */
const changed = <A extends object>(before: Partial<A>, after: A): Partial<A> => {
  const members: Partial<A> = {}
  for (const key of Struct.keys(after))
    if (!isDeepStrictEqual(plain(before[key]), plain(after[key]))) members[key] = after[key]
  return members
}
