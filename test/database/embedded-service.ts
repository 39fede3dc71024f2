/** A program for tests: a service with an embedded database that writes rows until it is killed. */
import { Effect, Layer } from "effect"
import { Sql } from "#core/sql.ts"
import { layerEmbedded } from "#runtime/database/embedded.ts"
import { DatabaseServer } from "#runtime/database/server.ts"

const [folder = ""] = process.argv.slice(2)

const sql = Layer.unwrap(Effect.map(DatabaseServer, ({ server }) => Sql.layer({ server })))

const write = Effect.gen(function* () {
  const sql = yield* Sql
  yield* sql.script("create table if not exists written (n serial primary key)")
  while (true) {
    const [row] = yield* sql<{ n: number }>`insert into written default values returning n`
    // a line is the acknowledgement
    yield* Effect.sync(() => process.stdout.write(`${row?.n}\n`))
  }
})

await Effect.runPromise(write.pipe(Effect.provide(Layer.provideMerge(sql, layerEmbedded(folder)))))
