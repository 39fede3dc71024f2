import { expect, layer } from "@effect/vitest"
import { Cause, Context, Deferred, Duration, Effect, Exit, Fiber, Layer } from "effect"
import { DatabaseUnavailable, onUniqueViolation, outsideTransaction, Sql, StatementRefused } from "#core/sql.ts"
import { emptyTestDatabase, TestDatabase } from "#test/support/database.ts"

const deadline = Duration.seconds(2)

/** A second replica on the database of this file. */
const replica = (poolSize: number) =>
  Layer.unwrap(
    Effect.map(TestDatabase, (server) => Sql.layer({ server, poolSize, deadline, applicationName: "replica" })),
  )

const table = Effect.fnUntraced(function* (name: string) {
  const sql = yield* Sql
  yield* sql.script(`create table ${name} (id text primary key, n integer not null default 0)`)
  return sql
})

const ids = (name: string) =>
  Effect.gen(function* () {
    const sql = yield* Sql
    const rows = yield* sql<{ id: string }>`select id from ${sql.fragment(asTemplate(name))} order by id`
    return rows.map(({ id }) => id)
  })

/** The name of a table as a piece of SQL. */
const asTemplate = (text: string): TemplateStringsArray => Object.assign([text], { raw: [text] })

const defectOf = <A, E>(exit: Exit.Exit<A, E>): unknown => (Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined)

layer(emptyTestDatabase, { excludeTestServices: true, timeout: "30 seconds" })("Sql", (it) => {
  it.effect("reads numbers, times, JSON and arrays as the service uses them", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      const [row] = yield* sql`select 9007199254740991::bigint as big, count(*) as n, 1.5::numeric as exact,
          '2026-11-21 12:00:00.1239+01'::timestamptz as at, '2026-11-21 12:00:00+00'::timestamptz as whole,
          '{"a": [1]}'::jsonb as doc, '[null]'::json as list, true as yes, null as nothing,
          array['a', null, 'b "c" \\ d', '', 'NULL', 'x,y'] as words, array[1, 2]::bigint[] as bigs, '{}'::text[] as none
        from (select) as one`
      expect(row).toEqual({
        big: 9_007_199_254_740_991,
        n: 1,
        exact: "1.5",
        at: "2026-11-21T11:00:00.123Z",
        whole: "2026-11-21T12:00:00.000Z",
        doc: { a: [1] },
        list: [null],
        yes: true,
        nothing: null,
        words: ["a", null, 'b "c" \\ d', "", "NULL", "x,y"],
        bigs: [1, 2],
        none: [],
      })
    }),
  )

  it.effect("sends every kind of parameter", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      yield* sql.script(
        "create table kinds (t text, i int, b bigint, f float8, y boolean, at timestamptz, j json, jb jsonb, ts text[], is_ int[], bytes bytea, d date)",
      )
      const words = ["a", null, 'b "c" \\ d\n', "", "NULL", "{x,y}"]
      yield* sql`insert into kinds values (${"é"}, ${7}, ${2n ** 40n}, ${0.5}, ${true}, ${new Date(0)}, ${sql.json({ a: "\u2028'" })},
        ${sql.json(["x"])}, ${words}, ${[1, null, -3]}, ${new Uint8Array([0, 255])}, ${"2026-11-21"})`
      yield* sql`insert into kinds (t, jb, at) values (${undefined}, ${'{"stored": "text"}'}, ${"2026-11-21T12:00:00.500Z"})`
      const [row, other] = yield* sql`select *, bytes = '\\x00ff' as same from kinds order by t nulls last`
      expect(row).toMatchObject({
        t: "é",
        i: 7,
        b: 2 ** 40,
        f: 0.5,
        y: true,
        at: "1970-01-01T00:00:00.000Z",
        j: { a: "\u2028'" },
        jb: ["x"],
        ts: words,
        is_: [1, null, -3],
        d: "2026-11-21",
        same: true,
      })
      expect(other).toMatchObject({ t: null, jb: { stored: "text" }, at: "2026-11-21T12:00:00.500Z" })
    }),
  )

  it.effect("puts fragments in place, with their parameters in order", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      const inner = sql.fragment`n > ${1} and n < ${4}`
      const where = sql.fragment`where (${inner}) or n = ${9}`
      const rows = yield* sql<{
        n: number
      }>`select ${"x"} as x, n from generate_series(1, ${10}) as n ${where} order by n`
      expect(rows.map(({ n }) => n)).toEqual([2, 3, 9])
    }),
  )

  it.effect("commits what succeeds and undoes what fails, dies or is interrupted", () =>
    Effect.gen(function* () {
      const sql = yield* table("outcomes")
      const insert = (id: string) => sql`insert into outcomes (id) values (${id})`
      yield* sql.transaction(insert("kept"))
      expect(yield* Effect.exit(sql.transaction(Effect.andThen(insert("failed"), Effect.fail("no"))))).toEqual(
        Exit.fail("no"),
      )
      expect(defectOf(yield* Effect.exit(sql.transaction(Effect.andThen(insert("died"), Effect.die("bug")))))).toBe(
        "bug",
      )
      const inside = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        sql.transaction(
          Effect.andThen(insert("interrupted"), Effect.andThen(Deferred.succeed(inside, undefined), Effect.never)),
        ),
      )
      yield* Deferred.await(inside)
      yield* Fiber.interrupt(fiber)
      expect(yield* ids("outcomes")).toEqual(["kept"])
    }),
  )

  it.effect("has rolled back when an interruption returns, also one that came in the middle of a statement", () =>
    Effect.gen(function* () {
      const sql = yield* table("rolled")
      yield* sql`insert into rolled (id) values ('row')`
      for (const pause of [0, 1, 5, 20]) {
        const fiber = yield* Effect.forkChild(
          sql.transaction(Effect.andThen(sql`update rolled set n = n + 1`, sql`select pg_sleep(30)`)),
        )
        yield* Effect.sleep(Duration.millis(pause))
        yield* Fiber.interrupt(fiber)
        // a transaction that was still open would hold the row
        yield* sql`select n from rolled for update nowait`
      }
      const [row] = yield* sql<{ n: number }>`select n from rolled`
      expect(row?.n).toBe(0)
      const busy =
        yield* sql`select from pg_stat_activity where query like '%pg_sleep(30)%' and state = 'active' and pid <> pg_backend_pid()`
      expect(busy).toHaveLength(0)
    }),
  )

  it.effect("stops a statement whose fiber is interrupted", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      const fiber = yield* Effect.forkChild(sql`select pg_sleep(29)`)
      yield* Effect.sleep("30 millis")
      yield* Fiber.interrupt(fiber)
      const busy =
        yield* sql`select from pg_stat_activity where query like '%pg_sleep(29)%' and state = 'active' and pid <> pg_backend_pid()`
      expect(busy).toHaveLength(0)
    }),
  )

  it.effect("joins: a transaction inside another shares its commit, and its rollback", () =>
    Effect.gen(function* () {
      const sql = yield* table("joined")
      const insert = (id: string) => sql`insert into joined (id) values (${id})`
      yield* Effect.exit(sql.transaction(Effect.andThen(sql.transaction(insert("undone")), Effect.fail("no"))))
      expect(yield* ids("joined")).toEqual([])
      yield* sql.transaction(Effect.andThen(insert("a"), sql.transaction(sql.transaction(insert("b")))))
      expect(yield* ids("joined")).toEqual(["a", "b"])
    }),
  )

  it.effect("undoes only the inner transaction where its failure is recovered from", () =>
    Effect.gen(function* () {
      const sql = yield* table("inner_failed")
      const told: Array<string> = []
      const insert = (id: string) =>
        Effect.andThen(
          sql`insert into inner_failed (id) values (${id})`,
          sql.afterCommit(() => told.push(id)),
        )
      yield* sql.transaction(
        Effect.gen(function* () {
          yield* insert("outer")
          yield* sql.transaction(Effect.andThen(insert("inner"), Effect.fail("no"))).pipe(Effect.ignore)
          // side by side they take turns
          const failing = Effect.ignore(sql.transaction(Effect.andThen(insert("y"), Effect.fail("no"))))
          yield* Effect.all([sql.transaction(insert("x")), failing, sql.transaction(insert("z"))], {
            concurrency: "unbounded",
          })
        }),
      )
      expect(yield* ids("inner_failed")).toEqual(["outer", "x", "z"])
      expect(told.toSorted()).toEqual(["outer", "x", "z"])
    }),
  )

  it.effect("runs actions after the commit, in order, once, and never without one", () =>
    Effect.gen(function* () {
      const sql = yield* table("told")
      const told: Array<string> = []
      yield* sql.transaction(
        Effect.gen(function* () {
          yield* sql.afterCommit(() => told.push("first"))
          yield* sql.afterCommit(() => {
            throw new Error("an action that throws")
          })
          yield* sql.afterCommit(() => told.push("second"))
          yield* sql`insert into told (id) values ('row')`
          expect(told).toEqual([])
          expect(yield* sql.inTransaction).toBe(true)
        }),
      )
      yield* Effect.exit(
        sql.transaction(
          Effect.andThen(
            sql.afterCommit(() => told.push("never")),
            Effect.fail("no"),
          ),
        ),
      )
      expect(told).toEqual(["first", "second"])
      expect(yield* sql.inTransaction).toBe(false)
      yield* sql.afterCommit(() => told.push("at once"))
      expect(told.at(-1)).toBe("at once")
    }),
  )

  it.effect("turns a named unique violation into another outcome, and lets the transaction go on", () =>
    Effect.gen(function* () {
      const sql = yield* table("uniques")
      const insert = (id: string) =>
        sql`insert into uniques (id) values (${id})`.pipe(
          Effect.as("new"),
          onUniqueViolation("uniques_pkey", () => Effect.succeed("known")),
        )
      expect([yield* insert("a"), yield* insert("a")]).toEqual(["new", "known"])
      expect(yield* sql.transaction(Effect.all([insert("b"), insert("a"), insert("c")]))).toEqual([
        "new",
        "known",
        "new",
      ])
      expect(yield* ids("uniques")).toEqual(["a", "b", "c"])
      const other = yield* Effect.exit(
        onUniqueViolation("another", () => Effect.succeed("known"))(sql`insert into uniques (id) values ('a')`),
      )
      expect(defectOf(other)).toBeInstanceOf(StatementRefused)
    }),
  )

  it.effect("refuses to commit where the code went on after a refused statement", () =>
    Effect.gen(function* () {
      const sql = yield* table("went_on")
      const exit = yield* Effect.exit(
        sql.transaction(
          Effect.gen(function* () {
            yield* sql`insert into went_on (id) values ('a')`
            yield* Effect.exit(sql`insert into went_on (id) values ('a')`)
          }),
        ),
      )
      expect(String(defectOf(exit))).toContain("nothing was committed")
      expect(yield* ids("went_on")).toEqual([])
    }),
  )

  it.effect("dies of a wrong statement, and says nothing of its values", () =>
    Effect.gen(function* () {
      const sql = yield* table("wrong")
      const secret = "do-not-show-me"
      for (const effect of [
        sql`insert into wrong (id) values (${secret}), (${secret})`,
        sql`select ${secret}::text::uuid`,
        sql`select missing from wrong where id = ${secret}`,
      ]) {
        const defect = defectOf(yield* Effect.exit(effect))
        expect(defect).toBeInstanceOf(StatementRefused)
        expect(`${String(defect)}${JSON.stringify(defect)}`).not.toContain(secret)
      }
      expect(String(defectOf(yield* Effect.exit(sql`select missing from wrong`)))).toContain(
        'column "missing" does not exist',
      )
    }),
  )

  it.effect("runs a deadlock's victim again", () =>
    Effect.gen(function* () {
      const sql = yield* table("deadlocks")
      yield* sql`insert into deadlocks (id) values ('a'), ('b')`
      let attempts = 0
      const both = yield* Deferred.make<void>()
      let arrived = 0
      const bump = (first: string, second: string) =>
        sql.transaction(
          Effect.gen(function* () {
            attempts++
            yield* sql`update deadlocks set n = n + 1 where id = ${first}`
            if (++arrived === 2) yield* Deferred.succeed(both, undefined)
            yield* Deferred.await(both)
            yield* sql`update deadlocks set n = n + 1 where id = ${second}`
          }),
        )
      yield* Effect.all([bump("a", "b"), bump("b", "a")], { concurrency: 2 })
      expect(attempts).toBe(3)
      expect(yield* sql`select n from deadlocks`).toEqual([{ n: 2 }, { n: 2 }])
    }),
  )

  it.effect("gives up on a victim after three more attempts", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      let attempts = 0
      const exit = yield* Effect.exit(
        sql.transaction(
          Effect.suspend(() => {
            attempts++
            return sql.script("do $$ begin raise exception using errcode = '40001'; end $$")
          }),
        ),
      )
      expect(attempts).toBe(4)
      expect(defectOf(exit)).toMatchObject({ _tag: "DatabaseUnavailable", reason: "40001" })
    }),
  )

  it.effect("does not run a statement of an ended transaction", () =>
    Effect.gen(function* () {
      const sql = yield* table("late")
      const gate = yield* Deferred.make<void>()
      const late = (effect: Effect.Effect<unknown, unknown>) => Effect.andThen(Deferred.await(gate), effect)
      const insert = (id: string) => sql`insert into late (id) values (${id})`
      const [inside, outside] = yield* sql.transaction(
        Effect.all([
          Effect.forkDetach(late(insert("inside"))),
          Effect.forkDetach(outsideTransaction(late(insert("outside")))),
        ]),
      )
      yield* Deferred.succeed(gate, undefined)
      expect(String(defectOf(yield* Fiber.await(inside)))).toContain("has ended")
      expect(Exit.isSuccess(yield* Fiber.await(outside))).toBe(true)
      expect(yield* ids("late")).toEqual(["outside"])
    }),
  )

  it.effect("keeps the transactions of two databases apart", () =>
    Effect.gen(function* () {
      const sql = yield* table("apart")
      const other = Context.get(yield* Layer.build(Layer.fresh(replica(2))), Sql)
      yield* Effect.exit(
        sql.transaction(
          Effect.gen(function* () {
            yield* sql`insert into apart (id) values ('mine')`
            expect(yield* other.inTransaction).toBe(false)
            yield* other.transaction(
              Effect.gen(function* () {
                yield* other`insert into apart (id) values ('theirs')`
                expect(yield* sql.inTransaction).toBe(true)
                yield* sql`insert into apart (id) values ('mine too')`
              }),
            )
            return yield* Effect.fail("no")
          }),
        ),
      )
      expect(yield* ids("apart")).toEqual(["theirs"])
    }).pipe(Effect.scoped),
  )

  it.effect("ends a slow statement at its deadline, and a slow transaction as a whole", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      const timed = Effect.fnUntraced(function* <A, E>(effect: Effect.Effect<A, E>) {
        const startedAt = performance.now()
        const exit = yield* Effect.exit(effect)
        expect(defectOf(exit)).toMatchObject({ _tag: "DatabaseUnavailable", reason: "timeout" })
        return performance.now() - startedAt
      })
      expect(yield* timed(sql`select pg_sleep(20)`)).toBeLessThan(2_500)
      const naps = Effect.forEach(Array.from({ length: 10 }), () => sql`select pg_sleep(0.8)`)
      expect(yield* timed(sql.transaction(naps))).toBeLessThan(2_500)
    }).pipe(Effect.provide(Layer.fresh(replica(2)))),
  )

  it.effect("bounds waiting for a connection in time and in number", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      const held = yield* Effect.forkChild(sql.transaction(Effect.never))
      yield* Effect.sleep("50 millis")
      const startedAt = performance.now()
      const exits = yield* Effect.all(
        Array.from({ length: 70 }, () => Effect.exit(sql`select 1`)),
        { concurrency: "unbounded" },
      )
      expect(performance.now() - startedAt).toBeLessThan(2_500)
      const reasons = exits.map((exit) => {
        const failure = defectOf(exit)
        return failure instanceof DatabaseUnavailable ? failure.reason : "none"
      })
      expect(reasons.filter((reason) => reason === "timeout")).toHaveLength(64)
      expect(reasons.filter((reason) => reason === "overloaded")).toHaveLength(6)
      yield* Fiber.interrupt(held)
      expect(yield* sql`select 1 as one`).toEqual([{ one: 1 }])
    }).pipe(Effect.provide(Layer.fresh(replica(1)))),
  )

  it.effect("gives every connection back, whatever happens to its statements", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      for (let round = 0; round < 40; round++) {
        const fibers = yield* Effect.forEach(Array.from({ length: 6 }), (_, i) =>
          Effect.forkChild(
            i % 2 === 0
              ? sql.transaction(Effect.andThen(sql`select 1`, sql`select pg_sleep(0.002)`))
              : sql`select pg_sleep(0.001)`,
          ),
        )
        yield* Effect.sleep(Duration.millis(round % 5))
        yield* Effect.forEach(fibers, Fiber.interrupt, { concurrency: "unbounded" })
      }
      const both = yield* Effect.all([sql`select 1 as n`, sql.transaction(sql`select 2 as n`)], { concurrency: 2 })
      expect(both).toEqual([[{ n: 1 }], [{ n: 2 }]])
      const open =
        yield* sql`select state from pg_stat_activity where application_name = 'replica' and state like 'idle in%'`
      expect(open).toHaveLength(0)
    }).pipe(Effect.provide(Layer.fresh(replica(2)))),
  )

  it.effect("hears notifications on every channel it listens to, and begins again after a loss", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      const heard: Array<string> = []
      let listening = 0
      const enough = (count: number) =>
        Effect.suspend(() => Effect.sleep("5 millis")).pipe(Effect.repeat({ until: () => listening >= count }))
      yield* sql.listen(
        "one",
        (payload) => heard.push(`one ${payload}`),
        () => listening++,
      )
      yield* sql.listen(
        'Two "quoted"',
        (payload) => heard.push(`two ${payload}`),
        () => listening++,
      )
      yield* enough(2)
      yield* sql`select pg_notify('one', 'a'), pg_notify('Two "quoted"', 'b'), pg_notify('three', 'c')`
      yield* sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'replica-listen'`
      yield* enough(4)
      yield* sql`select pg_notify('one', 'd')`
      yield* Effect.sleep("5 millis").pipe(Effect.repeat({ until: () => heard.length >= 3 }))
      expect(heard).toEqual(["one a", "two b", "one d"])
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(replica(2)))),
  )

  it.effect("keeps a connection set aside out of transactions, and makes it again when it is lost", () =>
    Effect.gen(function* () {
      const sql = yield* table("set_aside")
      const apart = yield* sql.dedicated("set-aside")
      yield* Effect.exit(
        sql.transaction(Effect.andThen(apart`insert into set_aside (id) values ('apart')`, Effect.fail("no"))),
      )
      expect(yield* ids("set_aside")).toEqual(["apart"])
      const pid = () => apart<{ pid: number }>`select pg_backend_pid() as pid`
      const before = yield* pid()
      expect(yield* pid()).toEqual(before)
      yield* sql`select pg_terminate_backend(pid, 1000) from pg_stat_activity where application_name = 'set-aside'`
      yield* Effect.sleep("20 millis")
      expect(yield* pid()).not.toEqual(before)
    }).pipe(Effect.scoped),
  )
})
