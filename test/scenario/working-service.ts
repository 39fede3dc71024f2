/** A program for tests: a replica that works on runs until it is killed. Its arguments are a database and settings, as JSON. */
import module from "node:module"
import { Effect, Layer } from "effect"
import { Settings, settingsForTests } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { startReplica } from "#runtime/main.ts"
import { coreServices } from "#runtime/services.ts"

const [server = "", settings = "{}"] = process.argv.slice(2)

const services = coreServices.pipe(
  Layer.provideMerge(Sql.layer({ server: JSON.parse(server), applicationName: "worker" })),
  Layer.provideMerge(Layer.succeed(Settings, settingsForTests({ ...JSON.parse(settings), Server: { Port: 0 } }))),
)

const program = Effect.gen(function* () {
  const { ready } = yield* startReplica()
  yield* ready
  // a process that is killed keeps nothing for the next one otherwise
  module.flushCompileCache()
  return yield* Effect.never
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(services)))
