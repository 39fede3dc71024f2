/** The service of the demo: the real one, in this process, with a data folder, a database and a key of its own. */
import { createWriteStream } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Layer, Logger, References, Schema } from "effect"
import { Settings, SettingsSchema, type SettingsValues } from "#core/settings.ts"
import { newApiKey } from "#runtime/api-key.ts"
import { layerDatabase } from "#runtime/database/layer.ts"
import { DemoFailed } from "#runtime/demo/failed.ts"
import { effectLogger, makeLog } from "#runtime/logging.ts"
import { startReplica } from "#runtime/main.ts"
import { coreServices } from "#runtime/services.ts"

export interface DemoService {
  readonly port: number
  readonly key: string
  /** What it has to say while it runs. */
  readonly log: string
}

const scriptPath = fileURLToPath(new URL("script.yml", import.meta.url))

const user = "demo"

/**
 * Starts it and waits until it answers; it stops with the scope. `folder` is where everything of it is kept, `providers` who
 * thinks: null for the script.
 */
export const startService = Effect.fn("demo.startService")(function* (
  folder: string,
  providers: SettingsValues["Providers"] | null,
) {
  const key = newApiKey()
  const settings = yield* settingsOf(folder, key, providers)
  const log = join(folder, "service.log")
  const services = yield* Layer.build(
    coreServices.pipe(
      Layer.provideMerge(layerDatabase),
      Layer.provideMerge(layerLogTo(log, settings)),
      Layer.provideMerge(Layer.succeed(Settings, settings)),
    ),
  ).pipe(Effect.mapError(asFailed))
  const { port, ready } = yield* startReplica({ safeMode: true }).pipe(
    Effect.mapError(asFailed),
    Effect.provideContext(services),
  )
  yield* ready.pipe(Effect.mapError(asFailed), Effect.provideContext(services))
  return { port, key, log } satisfies DemoService
})

const asFailed = ({ message }: { readonly message: string }) =>
  new DemoFailed({ message: `The service does not start. ${message} \`npm run svc -- doctor\` checks this machine.` })

/** Nothing of the person's own settings but the providers: the demo is by itself. */
const settingsOf = Effect.fnUntraced(function* (
  folder: string,
  key: string,
  providers: SettingsValues["Providers"] | null,
) {
  const own = yield* Schema.decodeEffect(SettingsSchema)({
    Server: { Port: 0 },
    Data: { Directory: join(folder, "data") },
    Auth: { Keys: [{ Token: key, User: user }], PlatformAdministrators: [user] },
    Providers: { Default: "scripted", Scripted: { Path: scriptPath } },
  }).pipe(Effect.orDie)
  return providers === null ? own : { ...own, Providers: providers }
})

/** To a file: the terminal belongs to the demo. */
const layerLogTo = (path: string, { Logging }: SettingsValues) =>
  Layer.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => createWriteStream(path, { mode: 0o600 })),
        (file) => Effect.callback<void>((resume) => void file.end(() => resume(Effect.void))),
      ),
      (file) =>
        Layer.mergeAll(
          Logger.layer([effectLogger(makeLog({ ...Logging, Format: "json" }, file))]),
          Layer.succeed(References.MinimumLogLevel, "Info"),
        ),
    ),
  )
