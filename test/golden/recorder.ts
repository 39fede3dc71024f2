/** A store of coordinators that remembers what it was asked: the raw material of a log. */
import { Effect } from "effect"
import type { Change } from "#runtime/coordinator/change.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"

export type Entry =
  /** A driver looked, to find what is to be done. `now`: milliseconds since 1970. */
  | {
      readonly _tag: "Looked"
      readonly state: CoordinatorState
      readonly now: number
      readonly takenOver: boolean
    }
  | {
      readonly _tag: "Wrote"
      readonly state: CoordinatorState
      readonly by: "coordinator" | "person"
      readonly changes: ReadonlyArray<Change>
    }

export interface Recorder {
  readonly store: CoordinatorStore["Service"]
  /** What was recorded of a run, as one history: by the version of its state, looks before the write. */
  readonly entriesOf: (runId: string) => ReadonlyArray<Entry>
  /** Lets the clock of whoever looks go forward. */
  readonly wait: (millis: number) => void
}

export const makeRecorder = (store: CoordinatorStore["Service"]): Recorder => {
  const entries: Array<Entry> = []
  const takenOver = new Set<string>()
  let looked: CoordinatorState | undefined
  let waited = 0

  const look = (state: CoordinatorState | undefined) =>
    Effect.sync(() => {
      looked = state
    })
  const keepLook = (now: number) => {
    if (looked === undefined) return
    const { runId } = looked.run
    entries.push({ _tag: "Looked", state: looked, now, takenOver: takenOver.delete(runId) })
    looked = undefined
  }

  return {
    store: CoordinatorStore.of({
      ...store,
      // a driver says its limits; whoever only shows a run does not
      load: (runId, limits) =>
        limits === undefined ? store.load(runId) : store.load(runId, limits).pipe(Effect.tap(look)),
      refresh: (known) => store.refresh(known).pipe(Effect.tap(look)),
      now: Effect.map(store.now, (at) => {
        const now = Date.parse(at) + waited
        keepLook(now)
        return new Date(now).toISOString()
      }),
      claim: (...args) =>
        store.claim(...args).pipe(
          Effect.tap((claimed) =>
            Effect.sync(() => {
              for (const each of claimed) if (each.takenOver) takenOver.add(each.runId)
            }),
          ),
        ),
      save: (save) =>
        store.save(save).pipe(
          Effect.tap(({ _tag }) =>
            Effect.sync(() => {
              const by = save.fence === undefined ? "person" : "coordinator"
              if (_tag === "Saved") entries.push({ _tag: "Wrote", state: save.state, by, changes: save.changes })
            }),
          ),
        ),
      decide: (runId, decide) => {
        let last: Entry | undefined
        return store
          .decide(runId, (state, stamp) =>
            decide(state, stamp).pipe(
              Effect.tap((changes) =>
                Effect.sync(() => {
                  last = changes.length === 0 ? undefined : { _tag: "Wrote", state, by: "person", changes }
                }),
              ),
            ),
          )
          .pipe(Effect.tap(() => Effect.sync(() => last !== undefined && entries.push(last))))
      },
    }),
    entriesOf: (runId) => entries.filter(({ state }) => state.run.runId === runId).toSorted(inOrder),
    wait: (millis) => {
      waited += millis
    },
  }
}

const inOrder = (one: Entry, other: Entry): number =>
  one.state.version - other.state.version || Number(one._tag === "Wrote") - Number(other._tag === "Wrote")
