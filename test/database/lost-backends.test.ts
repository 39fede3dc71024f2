/** Backends die all the time, in the middle of transactions: nothing ends but the statements on them. */
import { expect, layer } from "@effect/vitest"
import { Duration, Effect, Exit, Layer, Random, Schedule } from "effect"
import { Sql } from "#core/sql.ts"
import { emptyTestDatabase, TestDatabase } from "#test/support/database.ts"

const duration = Duration.seconds(15)
const workers = 10
const accounts = 20
const balance = 1_000
const deadlineMillis = 4_500

interface Tally {
  /** Transfers whose commit was acknowledged. */
  readonly acknowledged: Set<string>
  /** Transfers that were refused for a reason of our own: never to be found. */
  readonly refused: Set<string>
  unknown: number
  longest: number
}

const replica = Layer.unwrap(
  Effect.map(TestDatabase, (server) =>
    Sql.layer({ server, poolSize: 6, deadline: Duration.millis(deadlineMillis), applicationName: "victim" }),
  ),
)

/** Moves money in a transaction of several statements, and writes down that it did. */
const transfer = Effect.fnUntraced(function* (id: string, fails: boolean) {
  const sql = yield* Sql
  const from = yield* Random.nextIntBetween(0, accounts - 1)
  const to = yield* Random.nextIntBetween(0, accounts - 1)
  yield* sql.transaction(
    Effect.gen(function* () {
      yield* sql`update accounts set balance = balance - 1 where id = ${from}`
      yield* sql.transaction(sql`insert into transfers (id) values (${id})`)
      yield* sql`select pg_sleep(0.002)`
      yield* sql`update accounts set balance = balance + 1 where id = ${to}`
      if (fails) return yield* Effect.fail("refused" as const)
    }),
  )
})

const work = (worker: number, tally: Tally) =>
  Effect.gen(function* () {
    for (let i = 0; ; i++) {
      const id = `${worker}-${i}`
      const fails = i % 10 === 9
      const startedAt = performance.now()
      const exit = yield* Effect.exit(transfer(id, fails))
      tally.longest = Math.max(tally.longest, performance.now() - startedAt)
      const failure = Exit.findErrorOption(exit)
      if (Exit.isSuccess(exit)) tally.acknowledged.add(id)
      else if (failure._tag === "None") return yield* exit
      else if (failure.value === "refused") tally.refused.add(id)
      else tally.unknown++
    }
  })

/** Writes on a connection set aside: what was acknowledged must be there, too. */
const workApart = (tally: Tally) =>
  Effect.gen(function* () {
    const sql = yield* Sql
    const connection = yield* sql.dedicated("victim-apart")
    for (let i = 0; ; i++) {
      const id = `apart-${i}`
      const exit = yield* Effect.exit(connection`insert into transfers (id) select ${id} from pg_sleep(0.001)`)
      if (Exit.isSuccess(exit)) tally.acknowledged.add(id)
      else tally.unknown++
    }
  }).pipe(Effect.scoped)

/** Ends one of the workers' backends, preferably one that is in a transaction. */
const kill = Effect.gen(function* () {
  const sql = yield* Sql
  yield* sql`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name like 'victim%' order by (xact_start is null), random() limit 1`
})

layer(emptyTestDatabase, { excludeTestServices: true, timeout: "60 seconds" })("backends that die", (it) => {
  it.effect("end no process, hold no statement, and lose, repeat or invent no transaction", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      yield* sql.script(`create table accounts (id integer primary key, balance integer not null);
        insert into accounts select n, ${balance} from generate_series(0, ${accounts - 1}) as n;
        create table transfers (id text primary key)`)
      const uncaught: Array<unknown> = []
      const note = (error: unknown) => uncaught.push(error)
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          process.on("uncaughtException", note)
          process.on("unhandledRejection", note)
        }),
        () =>
          Effect.sync(() => {
            process.off("uncaughtException", note)
            process.off("unhandledRejection", note)
          }),
      )
      let kills = 0
      const tally: Tally = { acknowledged: new Set(), refused: new Set(), unknown: 0, longest: 0 }
      const killing = kill.pipe(
        Effect.tap(() => Effect.sync(() => kills++)),
        Effect.repeat(
          Schedule.spaced("80 millis").pipe(
            Schedule.modifyDelay(() => Effect.map(Random.nextIntBetween(30, 130), Duration.millis)),
          ),
        ),
      )
      const working = Effect.all([workApart(tally), ...Array.from({ length: workers }, (_, i) => work(i, tally))], {
        concurrency: "unbounded",
      }).pipe(Effect.provide(Layer.fresh(replica)))
      yield* Effect.all([killing, working], { concurrency: "unbounded" }).pipe(Effect.timeoutOption(duration))

      const [money] = yield* sql<{ sum: string }>`select sum(balance)::int as sum from accounts`
      const rows = yield* sql<{ id: string }>`select id from transfers`
      const stored = new Set(rows.map(({ id }) => id))
      expect(uncaught).toEqual([])
      expect(money?.sum).toBe(accounts * balance)
      expect([...tally.acknowledged].filter((id) => !stored.has(id))).toEqual([])
      expect([...tally.refused].filter((id) => stored.has(id))).toEqual([])
      expect(stored.size - tally.acknowledged.size).toBeLessThanOrEqual(tally.unknown + workers + 1)
      expect(tally.longest).toBeLessThan(deadlineMillis + 500)
      expect(kills).toBeGreaterThan(100)
      expect(tally.acknowledged.size).toBeGreaterThan(500)
      const left = yield* sql`select from pg_stat_activity where application_name like 'victim%' and state <> 'idle'`
      expect(left).toHaveLength(0)
    }).pipe(Effect.scoped),
  )
})
