/**
 * The one ordered log per run. An append is acknowledged after its commit and never before;
 * sequences are 1, 2, 3, … per run without gaps; a reader that asks for "greater than my cursor"
 * never misses an event and never sees one twice.
 *
 * It does not decide anything: what an event means is the business of who appends it.
 */
import { Context, Duration, Effect, Layer, Option, Stream } from "effect"
import type { NewEvent, StoredEvent } from "#core/event.ts"
import { type Hub, makeHub, type Want } from "#core/event-log/hub.ts"
import { channel, makeNotices, readNotice } from "#core/event-log/notices.ts"
import {
  catchUpRows,
  makeReader,
  type PageOptions,
  pageRows,
  type TextLayout,
  type TextPage,
} from "#core/event-log/reader.ts"
import { makeTail } from "#core/event-log/tail.ts"
import { makeTransactionalAppend } from "#core/event-log/transactional.ts"
import { makeWriter } from "#core/event-log/writer.ts"
import { Metrics } from "#core/ports/metrics.ts"
import type { Refusal } from "#core/refusal.ts"
import { makeSignal } from "#core/signal.ts"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"

/** The fallback that always works: how soon an event is found when every notice of it was lost. */
const idlePoll = Duration.millis(250)

export interface ReadOptions {
  /** Only greater sequences; 0 where absent. */
  readonly after?: number
  /** At most this many, applied after filtering and ordering; 1,000 where absent, and never more. */
  readonly limit?: number
  /** Exact, case-sensitive. */
  readonly type?: string
}

export interface EventLogShape {
  /**
   * Opens the log of a new run with its first events (sequence 1, …). Call it in the transaction
   * that inserts the run's row.
   */
  readonly open: (
    runId: string,
    events: readonly [NewEvent, ...NewEvent[]],
  ) => Effect.Effect<ReadonlyArray<StoredEvent>, Refusal | DatabaseUnavailable>
  /**
   * Appends in order. Inside `Sql.transaction` the events become part of it, in the same commit as the
   * rows they describe, and hold the run's lock until then: append last. Elsewhere they join the
   * next group commit. Fails with `run_not_found` for a run that was never opened or is deleted, and
   * with `replay_conflict` where a replay key was used before with another payload. `runId` may be a
   * sub-stream (`{runId}-rai`), which needs no opening.
   */
  readonly append: (
    runId: string,
    events: ReadonlyArray<NewEvent>,
  ) => Effect.Effect<ReadonlyArray<StoredEvent>, Refusal | DatabaseUnavailable>
  /** Stored events, ascending by sequence. */
  readonly read: (
    runId: string,
    options?: ReadOptions,
  ) => Effect.Effect<ReadonlyArray<StoredEvent>, DatabaseUnavailable>
  /** A page as text that is ready to be sent. A page may be shorter than its limit; only an empty one is the end. */
  readonly text: (
    runId: string,
    layout: TextLayout,
    options: PageOptions,
  ) => Effect.Effect<TextPage, DatabaseUnavailable>
  /** Every event after the cursor, then each new one as it is committed; ends only by interruption. */
  readonly follow: (runId: string, after?: number) => Stream.Stream<StoredEvent, DatabaseUnavailable>
  /** The hub's `join`: for those who write to sockets. `follow` is for everybody else. */
  readonly join: Hub["join"]
  /** Does this replica hold every event after the cursor in memory, so that `join` needs no page before it? */
  readonly remembers: Hub["remembers"]
  /** Runs followed on this replica. */
  readonly followed: Effect.Effect<number>
  /** Removes the run's log and its sub-streams. Inside the transaction that deletes the run's row. */
  readonly remove: (runId: string) => Effect.Effect<void, DatabaseUnavailable>
}

export class EventLog extends Context.Service<EventLog, EventLogShape>()("core/EventLog") {
  static readonly layer = Layer.effect(
    EventLog,
    Effect.gen(function* () {
      const sql = yield* Sql
      const metrics = yield* Metrics
      const replica = crypto.randomUUID()
      const reader = makeReader(sql)
      const notices = yield* makeNotices(yield* sql.dedicated("svc-notices"), replica)

      const wanted = makeSignal()
      const hub = makeHub(wanted.raise)

      yield* Effect.acquireRelease(
        Effect.sync(() => metrics.sampled("svc_followed_runs", hub.followed)),
        (stop) => Effect.sync(stop),
      )

      const onCommitted = (runId: string, events: ReadonlyArray<StoredEvent>): void => {
        hub.publish(runId, events)
        metrics.count("svc_events_appended_total", {}, events.length)
        const last = events.at(-1)
        if (last !== undefined) notices.tell(runId, last.sequence)
      }

      const writer = yield* makeWriter(yield* sql.dedicated("svc-log"), onCommitted)
      const transactional = makeTransactionalAppend(sql, reader, onCommitted)

      const catchUp = Effect.fnUntraced(function* (wants: ReadonlyArray<Want>) {
        if (wants.length === 0) return
        const found = yield* reader.catchUp(wants)
        for (const [runId, events] of found) {
          hub.publish(runId, events)
          const last = events.at(-1)
          // a full answer may not be all
          if (events.length >= catchUpRows && last !== undefined) hub.heard(runId, last.sequence + 1)
        }
      })
      // a database that does not answer costs this round; the next poll asks again
      const round = (wants: () => ReadonlyArray<Want>) =>
        Effect.suspend(() => catchUp(wants())).pipe(Effect.catchTag("DatabaseUnavailable", () => Effect.void))
      yield* wanted.wait.pipe(Effect.andThen(round(hub.takeWanted)), Effect.forever, Effect.forkScoped)
      yield* Effect.sleep(idlePoll).pipe(Effect.andThen(round(hub.everyFeed)), Effect.forever, Effect.forkScoped)

      yield* sql.listen(
        channel,
        (payload) => {
          for (const [runId, sequence] of readNotice(payload, replica)) hub.heard(runId, sequence)
        },
        () => {},
      )

      return EventLog.of({
        open: (runId, events) => transactional(runId, events, true),
        append: Effect.fnUntraced(function* (runId: string, events: ReadonlyArray<NewEvent>) {
          if (events.length === 0) return []
          const apart = (yield* sql.inTransaction) || events.some((event) => event.replayKey !== undefined)
          return yield* apart ? transactional(runId, events, false) : writer.append(runId, events)
        }),
        read: (runId, { after = 0, limit = pageRows, type } = {}) => reader.page(runId, { after, limit, type }),
        text: reader.text,
        follow: (runId, after = 0) =>
          Stream.unwrap(
            Effect.map(makeTail(runId, after, reader, hub), (next) =>
              Stream.paginate(undefined, () => Effect.map(next, (events) => [events, Option.some(undefined)] as const)),
            ),
          ),
        join: hub.join,
        remembers: hub.remembers,
        followed: Effect.sync(hub.followed),
        remove: Effect.fnUntraced(function* (runId: string) {
          yield* sql`select lock_runs(array[${runId}]::text[])`
          yield* sql`delete from events where run_id = ${runId} or run_id like ${`${runId}-%`}`
        }),
      })
    }),
  )
}
