/** Where the author's commands find decisions that were recorded: in a file, or in the log of this service. */
import { DateTime, Duration, Effect, Layer } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Settings, type SettingsValues } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { type SharedOptions, settingsFor } from "#runtime/cli/options.ts"
import { layerDatabase } from "#runtime/database/layer.ts"
import { runningServer } from "#runtime/database/running.ts"
import { layer as layerLogging } from "#runtime/logging.ts"
import { kitFailed } from "#runtime/plugin-host/kit/failed.ts"
import { recordedInFile, recordedInLog } from "#runtime/plugin-host/kit/recorded.ts"

export interface RecordOptions extends SharedOptions {
  readonly file?: string
  readonly since?: string
  readonly run?: string
}

export const recordsFor = Effect.fnUntraced(function* (options: RecordOptions) {
  const { file, run, since } = options
  if (file !== undefined) {
    const records = yield* recordedInFile(file)
    return run === undefined ? records : records.filter(({ runId }) => runId === run)
  }
  const from = since === undefined ? undefined : yield* moment(since)
  const { values } = yield* settingsFor(options)
  const database = Layer.provideMerge(yield* databaseOf(values), layerLogging)
  const log = Layer.provideMerge(EventLog.layer, database).pipe(Layer.provide(Layer.succeed(Settings, values)))
  return yield* recordedInLog({
    ...(run === undefined ? {} : { run }),
    ...(from === undefined ? {} : { since: from }),
  }).pipe(Effect.provide(log))
})

/** A service that runs on this data folder shares its database; where none does, it is started for as long as this takes. */
const databaseOf = Effect.fnUntraced(function* ({ Database, Data }: SettingsValues) {
  const running = Database.Url === undefined ? yield* Effect.promise(() => runningServer(Data.Directory)) : undefined
  return running === undefined
    ? layerDatabase
    : Sql.layer({ server: running, poolSize: 1, deadline: Duration.seconds(Database.QueryTimeoutSeconds) })
})

const units = { d: Duration.days, h: Duration.hours, m: Duration.minutes } as const

/** `30d`, `12h`, `5m`: so long ago; else a moment. */
const moment = Effect.fnUntraced(function* (text: string) {
  const [, count, unit] = /^(\d{1,6})([dhm])$/.exec(text) ?? []
  if (count !== undefined && (unit === "d" || unit === "h" || unit === "m")) {
    return DateTime.formatIso(DateTime.subtractDuration(yield* DateTime.now, units[unit](Number(count))))
  }
  const at = Date.parse(text)
  if (Number.isNaN(at)) return yield* kitFailed(`--since ${JSON.stringify(text)}: expected 30d, 12h, 5m, or a moment.`)
  return new Date(at).toISOString()
})
