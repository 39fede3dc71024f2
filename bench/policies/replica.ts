/** A replica for the policies bench: the service as it is, with a data folder of the parent's, and a plugin that asks what it is told. */
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { Settings, settingsForTests } from "#core/settings.ts"
import { type Server, Sql } from "#core/sql.ts"
import { startReplica } from "#runtime/main.ts"
import { coreServices } from "#runtime/services.ts"

const [, , server = "{}", key = "", data = ""] = process.argv
const asking = join(import.meta.dirname, "../../test/fixtures/plugins/asking.ts")

const program = Effect.gen(function* () {
  const address: Server = JSON.parse(server)
  const settings = settingsForTests({
    Server: { Port: 0 },
    Data: { Directory: data },
    Auth: { Keys: [{ User: "bench", Token: key }], PlatformAdministrators: ["bench"] },
    Plugins: { Native: [{ Name: "asking", Path: asking }] },
  })
  const services = yield* Layer.build(
    coreServices.pipe(
      Layer.provideMerge(Sql.layer({ server: address })),
      Layer.provideMerge(Layer.succeed(Settings, settings)),
    ),
  )
  const { port, ready } = yield* Effect.provideContext(startReplica(), services)
  yield* Effect.provideContext(ready, services)
  process.send?.({ port })
  return yield* Effect.never
})

process.once("disconnect", () => process.exit(0))
// what policies do wrong is the point here, not its log
console.log = () => {}
await Effect.runPromise(Effect.scoped(program))
