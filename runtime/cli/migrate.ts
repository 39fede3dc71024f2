/** `svc migrate`. */
import { Effect, Layer } from "effect"
import { migrate as applyMigrations } from "#core/migrate.ts"
import { Settings } from "#core/settings.ts"
import { type SharedOptions, settingsFor } from "#runtime/cli/options.ts"
import { type Outcome, outcome, runCommand, say } from "#runtime/cli/outcome.ts"
import { layerDatabase } from "#runtime/database/layer.ts"
import { layer as layerLogging } from "#runtime/logging.ts"
import { migrations } from "#runtime/migrations.ts"

export const migrate = (options: SharedOptions): Promise<Outcome> => runCommand(migrating(options))

const migrating = Effect.fnUntraced(function* (options: SharedOptions) {
  const { values } = yield* settingsFor(options)
  const database = Layer.provideMerge(layerDatabase, layerLogging)
  const applied = yield* applyMigrations(migrations).pipe(
    Effect.provide(Layer.provide(database, Layer.succeed(Settings, values))),
  )
  for (const { owner, id, name } of applied) yield* say(`Applied ${owner} ${id}: ${name}`)
  yield* say(applied.length === 0 ? "The database is up to date." : "The database is up to date now.")
  return outcome.done
})
