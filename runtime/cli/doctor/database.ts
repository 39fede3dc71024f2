/** Does the database start, or answer? */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, type Scope } from "effect"
import { Settings, type SettingsValues } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { type Check, type Finding, failed, ok } from "#runtime/cli/doctor/check.ts"
import { layerDatabase } from "#runtime/database/layer.ts"

/** A first start of the embedded server takes one to five seconds. */
const patience = "30 seconds"
/** `server_version_num` of the oldest PostgreSQL that the SQL of the service is written for. */
const oldest = 150_000

/** The embedded server is tried in a folder of its own: the one in the data folder may be running. */
export const database = (settings: SettingsValues): Check =>
  Effect.scoped(
    Effect.gen(function* () {
      const embedded = settings.Database.Url === undefined
      const tried = embedded ? { ...settings, Data: { Directory: yield* temporaryFolder } } : settings
      const layer = Layer.provide(layerDatabase, Layer.succeed(Settings, tried))
      return yield* ask(embedded).pipe(Effect.provide(layer))
    }),
  ).pipe(
    Effect.timeout(patience),
    Effect.catch((error) => Effect.succeed(broken(settings, error.message))),
    Effect.catchDefect((defect) => Effect.succeed(broken(settings, String(defect)))),
  )

const ask = Effect.fnUntraced(function* (embedded: boolean) {
  const sql = yield* Sql
  const [row] = yield* sql<{ version: string; number: string }>`
    select current_setting('server_version') as version, current_setting('server_version_num') as number`
  const name = `PostgreSQL ${row?.version ?? "of an unknown version"}${embedded ? " (embedded)" : ""}`
  return Number(row?.number) >= oldest
    ? ok("database", `${name} answers`)
    : failed("database", `${name} is too old`, "Use PostgreSQL 15 or newer.")
})

const broken = ({ Database }: SettingsValues, message: string): Finding =>
  Database.Url === undefined
    ? failed("database", message, "Set Database:Url (DATABASE_URL) to a PostgreSQL server of your own, 15 or newer.")
    : failed("database", message, "Check Database:Url (DATABASE_URL): host, port, user, password and database name.")

const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "svc-doctor-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
)
