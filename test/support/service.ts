/**
 * Whole replicas for tests: the service as `svc serve` starts it, on a free port, with the database of
 * the test file. Several of them on one database are several replicas.
 */
import { Context, Effect, Layer } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Projects } from "#core/project/projects.ts"
import { Runs } from "#core/run/runs.ts"
import { Settings, type SettingsInput, settingsForTests } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { startReplica } from "#runtime/main.ts"
import { coreServices } from "#runtime/services.ts"
import { sqlOfTest } from "#test/support/database.ts"

/** The keys that a test service knows: one for each of these users. */
export const users = {
  ada: "key-of-ada-0123456789",
  ben: "key-of-ben-0123456789",
  eve: "key-of-eve-0123456789",
} as const

/** Starts a replica; it stops with the scope. */
export const startService = (settings: SettingsInput = {}) =>
  Effect.gen(function* () {
    const values = settingsForTests({
      ...settings,
      Server: { Port: 0, ...settings.Server },
      Auth: {
        Keys: Object.entries(users).map(([User, Token]) => ({ User, Token })),
        ...settings.Auth,
      },
    })
    const services = yield* Layer.build(
      Layer.fresh(
        coreServices.pipe(
          Layer.provideMerge(Layer.fresh(sqlOfTest)),
          Layer.provideMerge(Layer.succeed(Settings, values)),
        ),
      ),
    )
    const { port, ready } = yield* Effect.provideContext(startReplica, services)
    yield* Effect.orDie(Effect.provideContext(ready, services))
    return {
      port,
      url: `http://127.0.0.1:${port}`,
      log: Context.get(services, EventLog),
      runs: Context.get(services, Runs),
      projects: Context.get(services, Projects),
      sql: Context.get(services, Sql),
    }
  })
