import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"
import { serverProcesses, signalAll, startServer, temporaryFolder } from "#test/support/private-server.ts"

/** What callers are promised: an answer within 5 s. */
const promise = 5_000

interface Answer {
  readonly reason: string
  readonly millis: number
}

/** Runs it and says how long it took and with which reason it failed; `ok` where it did not. */
const answer = <A>(effect: Effect.Effect<A, DatabaseUnavailable>): Effect.Effect<Answer> =>
  Effect.suspend(() => {
    const startedAt = performance.now()
    return Effect.map(Effect.exit(effect), (exit) => {
      const failure = Exit.findErrorOption(exit)
      const reason = Exit.isSuccess(exit) ? "ok" : failure._tag === "Some" ? failure.value.reason : "defect"
      return { reason, millis: performance.now() - startedAt }
    })
  })

const untilOk = (effect: Effect.Effect<unknown, DatabaseUnavailable>) =>
  effect.pipe(
    Effect.tapError(() => Effect.sleep("20 millis")),
    Effect.retry({ times: 500 }),
  )

layer(Layer.empty, { excludeTestServices: true, timeout: "60 seconds" })("a database in trouble", (it) => {
  it.effect("that is frozen costs nobody more than 5 s, and works again once it thaws", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const server = yield* startServer(folder)
      yield* Effect.gen(function* () {
        const sql = yield* Sql
        const apart = yield* sql.dedicated("apart")
        yield* sql.script("create table counted (n integer not null); insert into counted values (0)")
        yield* Effect.all([sql`select 1`, sql`select 1`, apart`select 1`], { concurrency: "unbounded" })

        const inside = yield* Deferred.make<void>()
        const thawed = yield* Deferred.make<void>()
        const halfway = yield* Effect.forkChild(
          sql
            .transaction(
              Effect.gen(function* () {
                yield* sql`update counted set n = n + 1`
                yield* Deferred.succeed(inside, undefined)
                yield* Deferred.await(thawed)
                yield* sql`update counted set n = n + 1`
              }),
            )
            .pipe(answer),
        )
        yield* Deferred.await(inside)
        const frozen = yield* serverProcesses(folder)
        yield* signalAll(frozen, "SIGSTOP")
        yield* Deferred.succeed(thawed, undefined)
        const first = yield* Effect.all(
          [
            ...Array.from({ length: 20 }, () => answer(sql`select 1`)),
            ...Array.from({ length: 20 }, () => answer(sql.transaction(Effect.andThen(sql`select 1`, sql`select 2`)))),
            answer(apart`select 1`),
          ],
          { concurrency: "unbounded" },
        )
        const later = yield* Effect.all(
          Array.from({ length: 20 }, () => answer(sql`select 1`)),
          { concurrency: "unbounded" },
        )
        for (const { reason, millis } of [...first, ...later, yield* Fiber.join(halfway)]) {
          expect(reason).not.toBe("ok")
          expect(reason).not.toBe("defect")
          expect(millis).toBeLessThan(promise)
        }
        yield* signalAll(frozen, "SIGCONT")
        yield* untilOk(sql`select 1`)
        yield* untilOk(apart`select 1`)
        // a transaction that did not commit left nothing, and holds nothing
        expect(yield* sql`update counted set n = n + 10 returning n`).toEqual([{ n: 10 }])
      }).pipe(Effect.scoped, Effect.provide(Layer.fresh(Sql.layer({ server, poolSize: 3 }))))
    }).pipe(Effect.scoped),
  )

  it.effect("that comes after the service is found as soon as it is there", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const sockets = join(folder, "database", "run")
      const server = { host: sockets, port: 5432, user: "svc", database: "postgres" }
      yield* Effect.gen(function* () {
        const sql = yield* Sql
        let listening = 0
        yield* sql.listen(
          "early",
          () => {},
          () => listening++,
        )
        const early = yield* Effect.all(
          Array.from({ length: 30 }, () => answer(sql`select 1`)),
          { concurrency: "unbounded" },
        )
        for (const { reason, millis } of early) {
          expect(reason).toBe("connection_refused")
          expect(millis).toBeLessThan(promise)
        }
        // an outage that lasts is told at once
        const [hasty] = (yield* Effect.all(Array.from({ length: 5 }, () => answer(sql`select 1`)))).toSorted(
          (a, b) => a.millis - b.millis,
        )
        expect(hasty?.millis).toBeLessThan(100)
        yield* startServer(folder)
        yield* untilOk(sql`select 1`)
        yield* Effect.sleep("10 millis").pipe(Effect.repeat({ until: () => listening === 1 }))
      }).pipe(Effect.scoped, Effect.provide(Layer.fresh(Sql.layer({ server }))))
    }).pipe(Effect.scoped),
  )

  it.effect("that restarts is waited for: statements that had not begun do not notice", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const first = yield* Effect.scoped(
        Effect.gen(function* () {
          const server = yield* startServer(folder)
          return server
        }),
      )
      yield* Effect.gen(function* () {
        const sql = yield* Sql
        const waiting = yield* Effect.forkChild(answer(sql`select 1`))
        yield* startServer(folder)
        expect((yield* Fiber.join(waiting)).reason).toBe("ok")
      }).pipe(Effect.provide(Layer.fresh(Sql.layer({ server: first }))))
    }).pipe(Effect.scoped),
  )

  it.effect("that only reads, or refuses the login, is not available", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const server = yield* startServer(folder)
      if (Redacted.isRedacted(server)) return
      const ask = (database: string, user: string) =>
        Effect.flatMap(Sql, (sql) => answer(sql`create table no (n integer)`)).pipe(
          Effect.provide(Layer.fresh(Sql.layer({ server: { ...server, database, user } }))),
        )
      expect((yield* ask("missing", "svc")).reason).toBe("3D000")
      expect((yield* ask("postgres", "nobody")).reason).toBe("28000")
      yield* Effect.flatMap(Sql, (sql) =>
        sql.script("alter database postgres set default_transaction_read_only = on"),
      ).pipe(Effect.provide(Layer.fresh(Sql.layer({ server }))))
      expect((yield* ask("postgres", "svc")).reason).toBe("read_only")
    }).pipe(Effect.scoped),
  )

  it.effect("whose address leads nowhere costs nobody more than 5 s", () =>
    Effect.gen(function* () {
      const server = Redacted.make("postgres://user:secret-word@127.0.0.1:1/database")
      const { reason, millis } = yield* Effect.flatMap(Sql, (sql) => answer(sql`select 1`)).pipe(
        Effect.provide(Layer.fresh(Sql.layer({ server, deadline: Duration.millis(4_500) }))),
      )
      expect(reason).toBe("connection_refused")
      expect(millis).toBeLessThan(promise)
    }),
  )
})
