/**
 * Group commit: appends that wait go out together, in one statement and one commit. No timer: the next
 * batch is whatever has arrived while the last one was under way, so a lone writer waits for nobody.
 *
 * There is exactly one batch in flight: two batches of one run in flight could commit in the other
 * order. One connection is also the fastest: at 32 writers two made 10 % fewer events a second and
 * four half as many, because each then carries smaller batches.
 */
import { Cause, Effect, Exit } from "effect"
import type { NewEvent, StoredEvent } from "#core/event.ts"
import { Metrics } from "#core/ports/metrics.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import { makeSignal } from "#core/signal.ts"
import { type Connection, DatabaseUnavailable } from "#core/sql.ts"

/** Events in one batch, and characters of payload: what one commit may carry. */
const batchEvents = 512
const batchCharacters = 1_048_576
/** Events that may wait; more are refused at once, so that a slow disk cannot fill the memory. */
const waitingEvents = 20_000

type Outcome = Exit.Exit<ReadonlyArray<StoredEvent>, Refusal | DatabaseUnavailable>

interface Waiting {
  /** Monotonic, in milliseconds. */
  readonly since: number
  readonly runId: string
  readonly events: ReadonlyArray<NewEvent>
  readonly settle: (outcome: Outcome) => void
}

export interface Writer {
  readonly append: (
    runId: string,
    events: ReadonlyArray<NewEvent>,
  ) => Effect.Effect<ReadonlyArray<StoredEvent>, Refusal | DatabaseUnavailable>
}

/** Called with the events of one run after their commit, before whoever appended them is told. */
export type OnCommitted = (runId: string, events: ReadonlyArray<StoredEvent>) => void

/** The writer on a connection of its own. Its loop ends with the scope; what then waits is told so. */
export const makeWriter = Effect.fnUntraced(function* (connection: Connection, onCommitted: OnCommitted) {
  const metrics = yield* Metrics
  const waiting: Array<Waiting> = []
  let waitingCount = 0
  const arrival = makeSignal()

  const takeBatch = (): Array<Waiting> => {
    let events = 0
    let characters = 0
    let taken = 0
    for (const entry of waiting) {
      events += entry.events.length
      for (const event of entry.events) characters += event.payload.length
      if (taken > 0 && (events > batchEvents || characters > batchCharacters)) break
      taken++
    }
    const batch = waiting.splice(0, taken)
    for (const entry of batch) waitingCount -= entry.events.length
    return batch
  }

  const settleAll = (batch: ReadonlyArray<Waiting>, outcome: Outcome): void => {
    for (const entry of batch) entry.settle(outcome)
  }

  const commit = Effect.fnUntraced(function* (batch: ReadonlyArray<Waiting>) {
    const exit = yield* Effect.exit(Effect.retry(writeBatch(connection, batch), { times: 3, while: isVictim }))
    if (Exit.isSuccess(exit)) {
      metrics.count("svc_event_batches_total")
      for (const [runId, events] of exit.value.byRun) onCommitted(runId, events)
      const now = performance.now()
      for (const { since } of batch) metrics.observe("svc_event_append_duration_seconds", (now - since) / 1_000)
      batch.forEach((entry, i) => {
        const stored = exit.value.stored[i]
        entry.settle(stored === undefined ? Exit.fail(refuse("run_not_found")) : Exit.succeed(stored))
      })
      return
    }
    const parts = Cause.hasDies(exit.cause) || isLockTimeout(exit.cause) ? apart(batch) : []
    if (parts.length > 1) for (const part of parts) yield* commitAgain(part)
    else settleAll(batch, Exit.failCause(exit.cause))
  })

  const commitAgain = (batch: ReadonlyArray<Waiting>): Effect.Effect<void> => Effect.suspend(() => commit(batch))

  const commitWaiting = Effect.whileLoop({
    while: () => waiting.length > 0,
    body: () => commit(takeBatch()),
    step: () => {},
  })

  yield* arrival.wait.pipe(
    Effect.andThen(commitWaiting),
    Effect.forever,
    Effect.onExit(() =>
      Effect.sync(() => settleAll(waiting.splice(0), Exit.fail(unavailable("closing", "The service is stopping.")))),
    ),
    Effect.forkScoped,
  )

  const append: Writer["append"] = (runId, events) =>
    Effect.callback((resume) => {
      if (waitingCount + events.length > waitingEvents) {
        return resume(Effect.fail(unavailable("overloaded", "More events wait to be written than may wait.")))
      }
      const entry: Waiting = { since: performance.now(), runId, events, settle: resume }
      waiting.push(entry)
      waitingCount += events.length
      arrival.raise()
      return Effect.sync(() => {
        const place = waiting.indexOf(entry)
        if (place < 0) return
        waiting.splice(place, 1)
        waitingCount -= events.length
      })
    })

  return { append } satisfies Writer
})

/**
 * A batch that failed for a reason of its own, not of the database's, in smaller parts: by run, and one
 * run's entries each for itself. A statement that is wrong, or a run whose lock is held too long, must
 * not fail the others.
 */
const apart = (batch: ReadonlyArray<Waiting>): ReadonlyArray<ReadonlyArray<Waiting>> => {
  const byRun = [...Map.groupBy(batch, (entry) => entry.runId).values()]
  return byRun.length > 1 ? byRun : batch.map((entry) => [entry])
}

/** A deadlock or serialization victim: the database has undone the batch and wants it again. */
const isVictim = ({ reason }: DatabaseUnavailable): boolean => reason === "40P01" || reason === "40001"

const isLockTimeout = (cause: Cause.Cause<DatabaseUnavailable>): boolean =>
  cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error.reason === "lock_timeout")

const unavailable = (reason: string, message: string) => new DatabaseUnavailable({ reason, message })

interface Written {
  /** Per entry of the batch; undefined where its run is not known. */
  readonly stored: ReadonlyArray<ReadonlyArray<StoredEvent> | undefined>
  readonly byRun: ReadonlyMap<string, ReadonlyArray<StoredEvent>>
}

const writeBatch = Effect.fnUntraced(function* (connection: Connection, batch: ReadonlyArray<Waiting>) {
  // in the order in which everybody takes the locks
  const runIds = [...new Set(batch.map((entry) => entry.runId))].sort()
  const position = new Map(runIds.map((runId, i) => [runId, i + 1]))
  const counts = runIds.map(() => 0)
  const eventRun: Array<number> = []
  const eventPlace: Array<number> = []
  const eventRunId: Array<string> = []
  const eventType: Array<string> = []
  const eventPayload: Array<string> = []
  for (const { runId, events } of batch) {
    const run = position.get(runId) ?? 0
    for (const event of events) {
      const place = (counts[run - 1] ?? 0) + 1
      counts[run - 1] = place
      eventRun.push(run)
      eventPlace.push(place)
      eventRunId.push(runId)
      eventType.push(event.type)
      eventPayload.push(event.payload)
    }
  }
  const [row] = yield* connection<{ heads: ReadonlyArray<string>; appended_at: string }>`
    select heads::text[] as heads, appended_at
      from append_events(${runIds}::text[], ${eventRun}::int[], ${eventPlace}::int[],
                         ${eventRunId}::text[], ${eventType}::text[], ${eventPayload}::text[])`
  if (row === undefined) return yield* Effect.die("append_events gave no row")
  return written(batch, position, row.heads, row.appended_at)
})

const written = (
  batch: ReadonlyArray<Waiting>,
  position: ReadonlyMap<string, number>,
  heads: ReadonlyArray<string>,
  timestamp: string,
): Written => {
  const byRun = new Map<string, Array<StoredEvent>>()
  const stored = batch.map(({ runId, events }) => {
    const head = Number(heads[(position.get(runId) ?? 0) - 1])
    if (head < 0) return undefined
    const soFar = byRun.get(runId) ?? []
    byRun.set(runId, soFar)
    const before = head + soFar.length
    const mine = events.map((event, i) => ({
      runId,
      sequence: before + i + 1,
      type: event.type,
      timestamp,
      payload: event.payload,
    }))
    soFar.push(...mine)
    return mine
  })
  return { stored, byRun }
}
