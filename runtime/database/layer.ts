/** The database that the settings ask for: a server elsewhere, or the one that the service starts itself. */
import { Duration, Effect, Layer, Redacted } from "effect"
import { Settings, type SettingsValues } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { layerEmbedded } from "#runtime/database/embedded.ts"
import { DatabaseNotStarted } from "#runtime/database/not-started.ts"
import { stateOf } from "#runtime/database/patch-postgres.js"
import { DatabaseServer } from "#runtime/database/server.ts"

/** Of the time in which a caller must have an answer, what the database may use. */
const share = 0.9

/**
 * Does not wait for a server elsewhere: the service starts, and answers 503 until it is there. Fails
 * where no embedded server can be started, and where the driver was installed without its repair.
 */
export const layerDatabase: Layer.Layer<Sql | DatabaseServer, DatabaseNotStarted, Settings> = Layer.unwrap(
  Effect.gen(function* () {
    yield* driverIsRepaired
    const settings = yield* Settings
    return Layer.provideMerge(sql(settings), server(settings))
  }),
)

const server = ({ Database, Data }: SettingsValues): Layer.Layer<DatabaseServer, DatabaseNotStarted> =>
  Database.Url === undefined
    ? layerEmbedded(Data.Directory)
    : Layer.succeed(DatabaseServer, { embedded: false, server: Redacted.make(Redacted.value(Database.Url)) })

const sql = ({ Database }: SettingsValues): Layer.Layer<Sql, never, DatabaseServer> =>
  Layer.unwrap(
    Effect.map(DatabaseServer, ({ server }) =>
      Sql.layer({
        server,
        poolSize: Database.PoolSize,
        deadline: Duration.seconds(Database.QueryTimeoutSeconds * share),
      }),
    ),
  )

const driverIsRepaired = Effect.suspend(() =>
  stateOf() === "repaired"
    ? Effect.void
    : Effect.fail(
        new DatabaseNotStarted({
          message:
            "The PostgreSQL driver in node_modules lacks a repair without which a lost connection can end the service. Run `npm ci`, or `node runtime/database/patch-postgres.js`.",
        }),
      ),
)
