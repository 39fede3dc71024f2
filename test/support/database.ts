/**
 * A database for one test file: a copy of the migrated template, dropped at the end.
 *
 * `testDatabase` gives `Sql`; `TestDatabase` also its address, for several replicas on one database.
 */
import { Context, Duration, Effect, Layer, type Scope } from "effect"
import { inject } from "vitest"
import { Sql } from "#core/sql.ts"
import { adminStatement, type TestServer, templateName } from "#test/support/database-names.ts"

/** The database of this test file. */
export class TestDatabase extends Context.Service<TestDatabase, TestServer>()("test/support/TestDatabase") {
  static readonly layer: Layer.Layer<TestDatabase> = Layer.effect(
    TestDatabase,
    Effect.suspend(() => makeDatabase(templateName)),
  )
  /** Without any tables. */
  static readonly layerEmpty: Layer.Layer<TestDatabase> = Layer.effect(
    TestDatabase,
    Effect.suspend(() => makeDatabase("template0")),
  )
}

/** As patient as a machine that runs other tests too. */
const deadline = Duration.seconds(10)

/** `Sql` on the database of this test file. Each replica that a test starts needs a `Layer.fresh` of it. */
export const sqlOfTest: Layer.Layer<Sql, never, TestDatabase> = Layer.unwrap(
  Effect.map(TestDatabase, (server) => Sql.layer({ server, deadline, applicationName: "test" })),
)

/** A migrated database of its own, and `Sql` on it. */
export const testDatabase: Layer.Layer<Sql | TestDatabase> = Layer.provideMerge(sqlOfTest, TestDatabase.layer)

/** An empty database of its own, and `Sql` on it. */
export const emptyTestDatabase: Layer.Layer<Sql | TestDatabase> = Layer.provideMerge(sqlOfTest, TestDatabase.layerEmpty)

const makeDatabase = Effect.fnUntraced(function* (template: string): Effect.fn.Return<TestServer, never, Scope.Scope> {
  const server = inject("databaseServer")
  const database = `test_${crypto.randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(adminStatement(server, `create database ${database} template ${template}`), () =>
    adminStatement(server, `drop database ${database} with (force)`),
  )
  return { ...server, database }
})
