import { expect, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer } from "effect"
import { type AppliedMigration, type Migration, MigrationRefused, migrate } from "#core/migrate.ts"
import { Sql } from "#core/sql.ts"
import { emptyTestDatabase, sqlOfTest, TestDatabase } from "#test/support/database.ts"

const step = (id: number, name: string, sql: string): Migration => ({ id, name, sql })
const first = step(1, "things", "create table things (id integer); insert into things values (1);")
const second = step(2, "more-things", "insert into things values (2);")

/** Runs a test on an empty database of its own. */
const alone = <A, E>(effect: Effect.Effect<A, E, Sql | TestDatabase>) =>
  Effect.provide(effect, Layer.fresh(emptyTestDatabase))

const refusalOf = (exit: Exit.Exit<unknown, unknown>): MigrationRefused | undefined => {
  const found = Exit.findErrorOption(exit)
  return found._tag === "Some" && found.value instanceof MigrationRefused ? found.value : undefined
}

const labels = (applied: ReadonlyArray<AppliedMigration>) => applied.map(({ owner, id }) => `${owner}/${id}`)

layer(Layer.empty, { excludeTestServices: true, timeout: "30 seconds" })("migrate", (it) => {
  it.effect("applies what is missing, in the order of its number, once", () =>
    alone(
      Effect.gen(function* () {
        const sql = yield* Sql
        expect(labels(yield* migrate([{ owner: "core", steps: [second, first] }]))).toEqual(["core/1", "core/2"])
        expect(yield* migrate([{ owner: "core", steps: [first, second] }])).toEqual([])
        const third = step(3, "third", "insert into things values (3)")
        expect(labels(yield* migrate([{ owner: "core", steps: [first, second, third] }]))).toEqual(["core/3"])
        expect(yield* sql`select id from things order by id`).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
      }),
    ),
  )

  it.effect("numbers the files of each owner apart, and leaves owners that are not loaded alone", () =>
    alone(
      Effect.gen(function* () {
        const core = { owner: "core", steps: [first] }
        const plugin = { owner: "skills", steps: [step(1, "skills", "create table skills (id integer)")] }
        expect(labels(yield* migrate([core, plugin]))).toEqual(["core/1", "skills/1"])
        expect(yield* migrate([core])).toEqual([])
      }),
    ),
  )

  it.effect("lets one of many replicas that start at once apply each migration", () =>
    alone(
      Effect.gen(function* () {
        const server = yield* TestDatabase
        const steps = Array.from({ length: 8 }, (_, i) =>
          step(
            i + 1,
            `step-${i + 1}`,
            `create table t${i} (id integer); select pg_sleep(0.01); insert into t${i} values (1);`,
          ),
        )
        const replica = Effect.gen(function* () {
          const context = yield* Layer.build(Layer.fresh(Layer.provide(sqlOfTest, Layer.succeed(TestDatabase, server))))
          return yield* Effect.provideService(migrate([{ owner: "core", steps }]), Sql, Context.get(context, Sql))
        }).pipe(Effect.scoped)
        const applied = yield* Effect.all(
          Array.from({ length: 5 }, () => replica),
          { concurrency: "unbounded" },
        )
        expect(labels(applied.flat()).toSorted()).toEqual(steps.map(({ id }) => `core/${id}`))
      }),
    ),
  )

  it.effect("refuses a migration that was edited after it had been applied", () =>
    alone(
      Effect.gen(function* () {
        yield* migrate([{ owner: "core", steps: [first] }])
        const edited = { ...first, sql: `${first.sql} -- and a word` }
        const refusal = refusalOf(yield* Effect.exit(migrate([{ owner: "core", steps: [edited] }])))
        expect(refusal?.reason).toBe("edited")
        expect(refusal?.message).toContain("core/0001-things")
        const windows = { ...first, sql: first.sql.replaceAll("\n", "\r\n") }
        expect(yield* migrate([{ owner: "core", steps: [windows] }])).toEqual([])
      }),
    ),
  )

  it.effect("refuses a database that a newer version has changed, and names what it does not know", () =>
    alone(
      Effect.gen(function* () {
        yield* migrate([{ owner: "core", steps: [first, second] }])
        const refusal = refusalOf(yield* Effect.exit(migrate([{ owner: "core", steps: [first] }])))
        expect(refusal?.reason).toBe("unknown")
        expect(refusal?.message).toContain("core/0002-more-things")
      }),
    ),
  )

  it.effect("leaves nothing behind of a migration that fails, and keeps those before it", () =>
    alone(
      Effect.gen(function* () {
        const sql = yield* Sql
        const broken = step(2, "broken", "insert into things values (2); insert into missing values (1);")
        const refusal = refusalOf(yield* Effect.exit(migrate([{ owner: "core", steps: [first, broken] }])))
        expect(refusal?.reason).toBe("failed")
        expect(refusal?.message).toContain('relation "missing" does not exist')
        expect(yield* sql`select id from things`).toEqual([{ id: 1 }])
        expect(labels(yield* migrate([{ owner: "core", steps: [first, second] }]))).toEqual(["core/2"])
      }),
    ),
  )

  it.effect("refuses two migrations with one number, and a folder that is not there", () =>
    alone(
      Effect.gen(function* () {
        const twice = [first, { ...second, id: 1 }]
        expect(refusalOf(yield* Effect.exit(migrate([{ owner: "core", steps: twice }])))?.reason).toBe("invalid")
        const missing = { owner: "core", directory: "/does/not/exist" }
        expect(refusalOf(yield* Effect.exit(migrate([missing])))?.reason).toBe("invalid")
      }),
    ),
  )

  it.effect("takes longer than a statement may, where it has to", () =>
    alone(
      Effect.gen(function* () {
        const server = yield* TestDatabase
        const hasty = Layer.fresh(Sql.layer({ server, deadline: "500 millis" }))
        const slow = step(1, "slow", "select pg_sleep(1)")
        expect(labels(yield* migrate([{ owner: "core", steps: [slow] }]).pipe(Effect.provide(hasty)))).toEqual([
          "core/1",
        ])
      }),
    ),
  )
})
