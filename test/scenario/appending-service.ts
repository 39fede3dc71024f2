/**
 * A program for tests: a service with an embedded database that appends events to a few runs, alone and
 * in transactions, until it is killed. A line `<run> <sequence> <text>` is an acknowledgement.
 */
import { writeSync } from "node:fs"
import { Effect, Layer, Schema } from "effect"
import { defineEvent } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { migrate } from "#core/migrate.ts"
import { Sql } from "#core/sql.ts"
import { layerEmbedded } from "#runtime/database/embedded.ts"
import { DatabaseServer } from "#runtime/database/server.ts"
import { migrations } from "#runtime/migrations.ts"

const [folder = "", ...runIds] = process.argv.slice(2)
const writers = 12

const Written = defineEvent("test.written", Schema.Struct({ text: Schema.String }))

const sql = Layer.unwrap(Effect.map(DatabaseServer, ({ server }) => Sql.layer({ server })))
const services = EventLog.layer.pipe(Layer.provideMerge(sql), Layer.provide(layerEmbedded(folder)))

const program = Effect.gen(function* () {
  const log = yield* EventLog
  const sql = yield* Sql
  yield* migrate(migrations)
  yield* sql.script("create table if not exists written (text text primary key)")
  for (const runId of runIds) {
    if ((yield* log.read(runId, { limit: 1 })).length === 0) yield* log.open(runId, [Written.of({ text: "opened" })])
  }
  const writer = (n: number) =>
    Effect.gen(function* () {
      for (let i = 0; ; i++) {
        const runId = runIds[(n + i) % runIds.length] ?? ""
        const text = crypto.randomUUID()
        const append = log.append(runId, [Written.of({ text })])
        // every third writer appends with a row that the event describes
        const appended = yield* n % 3 === 0
          ? sql.transaction(Effect.andThen(sql`insert into written values (${text})`, append))
          : append
        // written at once, not buffered: what was acknowledged before the kill must be known
        for (const event of appended) writeSync(1, `${runId} ${event.sequence} ${text}\n`)
      }
    }).pipe(
      // the database is killed too: whoever was refused goes on
      Effect.catchTag("DatabaseUnavailable", () => Effect.sleep("20 millis")),
      Effect.forever,
    )
  yield* Effect.all(
    Array.from({ length: writers }, (_, n) => writer(n)),
    { concurrency: "unbounded" },
  )
})

await Effect.runPromise(program.pipe(Effect.provide(services)))
