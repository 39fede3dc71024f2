import { expect, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Schema, Stream } from "effect"
import { defineEvent, withReplayKey } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { Sql } from "#core/sql.ts"
import { testDatabase } from "#test/support/database.ts"

const Noted = defineEvent("test.noted", Schema.Struct({ text: Schema.String, n: Schema.optionalKey(Schema.Int) }))
const note = (text: string, n = 0) => Noted.of({ text, n })

const newRun = Effect.gen(function* () {
  const log = yield* EventLog
  const runId = crypto.randomUUID()
  yield* log.open(runId, [note("opened")])
  return runId
})

const sequences = (events: ReadonlyArray<{ readonly sequence: number }>) => events.map((event) => event.sequence)
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)

const services = EventLog.layer.pipe(Layer.provideMerge(testDatabase))

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("the event log", (it) => {
  it.effect("gives 100 concurrent appends the sequences 1 to 100", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = crypto.randomUUID()
      yield* log.open(runId, [note("first")])
      const appended = yield* Effect.forEach(upTo(99), (i) => log.append(runId, [note("more", i)]), {
        concurrency: "unbounded",
      })
      expect(sequences(appended.flat()).sort((a, b) => a - b)).toEqual(upTo(100).slice(1))
      const stored = yield* log.read(runId)
      expect(sequences(stored)).toEqual(upTo(100))
      for (const [event] of appended) expect(stored[(event?.sequence ?? 0) - 1]).toEqual(event)
    }),
  )

  it.effect("keeps the order of events that are appended together", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = yield* newRun
      yield* Effect.all(
        upTo(20).map((writer) =>
          log.append(
            runId,
            upTo(5).map((n) => note(`writer ${writer}`, n)),
          ),
        ),
        { concurrency: "unbounded" },
      )
      const numbers = (yield* log.read(runId, { after: 1 })).map((event) => JSON.parse(event.payload).n)
      expect(numbers).toEqual(upTo(20).flatMap(() => upTo(5)))
    }),
  )

  it.effect("refuses an append to a run that was never opened, and loses nothing of its neighbours", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = yield* newRun
      const [unknown, known] = yield* Effect.all(
        [Effect.flip(log.append(crypto.randomUUID(), [note("lost")])), log.append(runId, [note("kept")])],
        { concurrency: "unbounded" },
      )
      expect(unknown).toMatchObject({ _tag: "Refusal", code: "run_not_found" })
      expect(sequences(known)).toEqual([2])
    }),
  )

  it.effect("gives a sub-stream a log of its own, as long as its run exists", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = yield* newRun
      expect(sequences(yield* log.append(`${runId}-rai`, [note("a"), note("b")]))).toEqual([1, 2])
      expect(sequences(yield* log.append(runId, [note("c")]))).toEqual([2])
      const orphan = yield* Effect.flip(log.append(`${crypto.randomUUID()}-rai`, [note("x")]))
      expect(orphan).toMatchObject({ code: "run_not_found" })
    }),
  )

  it.effect("gives a replay its original, and refuses the same key with another payload", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = yield* newRun
      const first = yield* log.append(runId, [withReplayKey(note("once"), "k1"), withReplayKey(note("twice"), "k2")])
      const again = yield* log.append(runId, [withReplayKey(note("once"), "k1"), withReplayKey(note("thrice"), "k3")])
      expect(again[0]).toEqual(first[0])
      expect(sequences(again)).toEqual([2, 4])
      const conflict = yield* Effect.flip(
        log.append(runId, [withReplayKey(note("new"), "k4"), withReplayKey(note("other"), "k1")]),
      )
      expect(conflict).toMatchObject({ _tag: "Refusal", code: "replay_conflict" })
      expect(sequences(yield* log.read(runId))).toEqual([1, 2, 3, 4])
    }),
  )

  it.effect("reuses one original when 50 replays race", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = yield* newRun
      const all = yield* Effect.all(
        upTo(50).map(() => log.append(runId, [withReplayKey(note("raced"), "race")])),
        { concurrency: "unbounded" },
      )
      expect(new Set(sequences(all.flat()))).toEqual(new Set([2]))
      expect(sequences(yield* log.read(runId))).toEqual([1, 2])
    }),
  )

  it.effect("keeps two honest events that look alike as two events", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = yield* newRun
      yield* log.append(runId, [note("same")])
      yield* log.append(runId, [note("same")])
      expect(sequences(yield* log.read(runId))).toEqual([1, 2, 3])
    }),
  )

  it.effect("commits events together with the rows they describe, or not at all", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const sql = yield* Sql
      yield* sql`create table if not exists described (id text)`
      const runId = yield* newRun
      const write = (fail: boolean) =>
        sql.transaction(
          Effect.gen(function* () {
            yield* sql`insert into described values (${runId})`
            yield* log.append(runId, [note("described")])
            if (fail) return yield* Effect.fail("changed my mind" as const)
          }),
        )
      expect(yield* Effect.flip(write(true))).toBe("changed my mind")
      expect(sequences(yield* log.read(runId))).toEqual([1])
      yield* write(false)
      expect(sequences(yield* log.read(runId))).toEqual([1, 2])
      expect(yield* sql`select id from described`).toHaveLength(1)
    }),
  )

  it.effect("shows a follower nothing of a transaction before its commit, and everything after it", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const sql = yield* Sql
      const runId = yield* newRun
      const follower = yield* log.follow(runId).pipe(Stream.take(3), Stream.runCollect, Effect.forkChild)
      yield* Effect.exit(sql.transaction(Effect.andThen(log.append(runId, [note("undone")]), Effect.fail("no"))))
      yield* sql.transaction(log.append(runId, [note("done")]))
      yield* log.append(runId, [note("and more")])
      const seen = yield* Fiber.join(follower)
      expect(sequences(seen)).toEqual([1, 2, 3])
      expect(seen.map((event) => JSON.parse(event.payload).text)).toEqual(["opened", "done", "and more"])
    }),
  )

  it.effect("follows a long run from any cursor, then live, without a gap", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = yield* newRun
      yield* log.append(
        runId,
        upTo(1_999).map((n) => note("old", n)),
      )
      const follower = yield* log.follow(runId, 700).pipe(Stream.take(1_800), Stream.runCollect, Effect.forkChild)
      yield* Effect.forEach(upTo(500), (n) => log.append(runId, [note("new", n)]), { concurrency: 8 })
      expect(sequences(yield* Fiber.join(follower))).toEqual(upTo(2_500).slice(700))
    }),
  )

  it.effect("filters by type before it limits", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = yield* newRun
      const Other = defineEvent("test.other", Schema.Struct({}))
      yield* log.append(
        runId,
        upTo(10).flatMap((n) => [note("n", n), Other.of({})]),
      )
      expect(sequences(yield* log.read(runId, { type: "test.other", limit: 3, after: 3 }))).toEqual([5, 7, 9])
      expect(yield* log.read(runId, { type: "TEST.OTHER" })).toEqual([])
    }),
  )

  it.effect("gives pages as text that says the same as the events", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = yield* newRun
      yield* log.append(runId, [note('quotes " and \\ and ünïcode \u2028 \n')])
      const stored = yield* log.read(runId)
      const page = yield* log.text(runId, "envelopes", { after: 0, limit: 10 })
      expect(JSON.parse(`[${page.text}]`)).toEqual(stored.map((e) => ({ ...e, payload: JSON.parse(e.payload) })))
      const frames = yield* log.text(runId, "frames", { after: 1, limit: 10 })
      expect(frames.text).toBe(`id: 2\nevent: test.noted\ndata: ${stored[1]?.payload}\n\n`)
      expect(frames).toMatchObject({ count: 1, last: 2 })
    }),
  )

  it.effect("ends a page of large payloads early, and goes on after it", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = yield* newRun
      yield* log.append(
        runId,
        upTo(30).map((n) => note("x".repeat(100_000), n)),
      )
      const seen: Array<number> = []
      for (let after = 0; ; ) {
        const page = yield* log.text(runId, "envelopes", { after, limit: 1_000 })
        if (page.count === 0) break
        expect(page.text.length).toBeLessThan(1_500_000)
        seen.push(...sequences(JSON.parse(`[${page.text}]`)))
        after = page.last
      }
      expect(seen).toEqual(upTo(31))
    }),
  )

  it.effect("forgets a removed run with its sub-streams, and refuses what comes later", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const sql = yield* Sql
      const runId = yield* newRun
      const other = yield* newRun
      yield* log.append(`${runId}-rai`, [note("sub")])
      yield* sql.transaction(log.remove(runId))
      expect(yield* log.read(runId)).toEqual([])
      expect(yield* log.read(`${runId}-rai`)).toEqual([])
      expect(yield* Effect.flip(log.append(runId, [note("late")]))).toMatchObject({ code: "run_not_found" })
      expect(yield* log.read(other)).toHaveLength(1)
    }),
  )

  it.effect("opens a log once", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = yield* newRun
      // a second opening finds a log with a last sequence, and appends: only the row of the run can be there twice
      expect(sequences(yield* log.open(runId, [note("again")]))).toEqual([2])
    }),
  )

  it.effect("fails the appends to a run whose lock is held too long, and not those of its neighbours", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const sql = yield* Sql
      const [held, free] = [yield* newRun, yield* newRun]
      const release = yield* Deferred.make<void>()
      const locked = yield* Deferred.make<void>()
      const holder = yield* sql
        .transaction(
          sql`select lock_runs(array[${held}]::text[])`.pipe(
            Effect.andThen(Deferred.succeed(locked, undefined)),
            Effect.andThen(Deferred.await(release)),
          ),
        )
        .pipe(Effect.forkChild)
      yield* Deferred.await(locked)
      const [blocked, passed] = yield* Effect.all(
        [Effect.flip(log.append(held, [note("blocked")])), log.append(free, [note("passed")])],
        { concurrency: "unbounded" },
      )
      expect(blocked).toMatchObject({ _tag: "DatabaseUnavailable", reason: "lock_timeout" })
      expect(sequences(passed)).toEqual([2])
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(holder)
      expect(sequences(yield* log.append(held, [note("now")]))).toEqual([2])
    }),
  )

  it.effect("leaves nothing behind when an append is interrupted while it waits", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const runId = yield* newRun
      const fibers = yield* Effect.forEach(upTo(200), (n) => Effect.forkChild(log.append(runId, [note("maybe", n)])))
      yield* Effect.forEach(fibers, Fiber.interrupt, { concurrency: "unbounded", discard: true })
      const exit = yield* Effect.exit(log.append(runId, [note("after")]))
      expect(Exit.isSuccess(exit)).toBe(true)
      const stored = yield* log.read(runId)
      expect(sequences(stored)).toEqual(upTo(stored.length))
    }),
  )
})
