/**
 * Follows one run for a consumer in this process: pages from the database until it has caught up, then
 * what the hub hands over. A consumer that does not keep up falls back to pages; it is never skipped.
 */
import { Effect, type Scope } from "effect"
import type { StoredEvent } from "#core/event.ts"
import type { Hub } from "#core/event-log/hub.ts"
import type { Reader } from "#core/event-log/reader.ts"
import { makeSignal } from "#core/signal.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"

/** Events kept for a consumer; more, and it reads pages again. */
const bufferedEvents = 4_096
const pageSize = 500

/** The next events after the cursor: at least one, as soon as there is one. */
export const makeTail = (
  runId: string,
  after: number,
  reader: Reader,
  hub: Hub,
): Effect.Effect<Effect.Effect<ReadonlyArray<StoredEvent>, DatabaseUnavailable>, never, Scope.Scope> =>
  Effect.gen(function* () {
    let cursor = after
    let buffer: Array<StoredEvent> = []
    let leave: (() => void) | undefined
    const arrived = makeSignal()

    const stopListening = (): void => {
      leave?.()
      leave = undefined
      buffer = []
    }
    yield* Effect.addFinalizer(() => Effect.sync(stopListening))

    const onEvents = (events: ReadonlyArray<StoredEvent>): void => {
      buffer.push(...events)
      if (buffer.length > bufferedEvents) stopListening()
      arrived.raise()
    }

    const take = (): ReadonlyArray<StoredEvent> => {
      const events = buffer
      buffer = []
      return events
    }

    const nextPage = Effect.gen(function* () {
      const page = yield* reader.page(runId, { after: cursor, limit: pageSize })
      if (page.length < pageSize) {
        const joined = hub.join(runId, page.at(-1)?.sequence ?? cursor, onEvents)
        if (joined !== "behind") leave = joined
      }
      return page
    })

    const next: Effect.Effect<ReadonlyArray<StoredEvent>, DatabaseUnavailable> = Effect.gen(function* () {
      while (true) {
        const events = leave === undefined ? yield* nextPage : take()
        const last = events.at(-1)
        if (last !== undefined) {
          cursor = last.sequence
          return events
        }
        if (leave !== undefined) yield* arrived.wait
      }
    })
    return next
  })
