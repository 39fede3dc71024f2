/**
 * Whole replicas for tests: the service as `svc serve` starts it, on a free port, with the database of
 * the test file. Several of them on one database are several replicas.
 */
import { Context, Effect, Layer } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Sandbox } from "#core/ports/sandbox.ts"
import { Projects } from "#core/project/projects.ts"
import { Runs } from "#core/run/runs.ts"
import { Settings, type SettingsInput, settingsForTests } from "#core/settings.ts"
import { type Server, Sql } from "#core/sql.ts"
import { startReplica } from "#runtime/main.ts"
import { defaultLimits, type SandboxLimits } from "#runtime/sandbox/limits.ts"
import { localSandbox } from "#runtime/sandbox/sandbox.ts"
import { coreServices } from "#runtime/services.ts"
import { TestDatabase } from "#test/support/database.ts"

/** The keys that a test service knows: one for each of these users. */
export const users = {
  ada: "key-of-ada-0123456789",
  ben: "key-of-ben-0123456789",
  eve: "key-of-eve-0123456789",
} as const

/** Starts a replica on the database of the test file; it stops with the scope. */
export const startService = (settings: SettingsInput = {}) =>
  Effect.flatMap(TestDatabase, (server) => startServiceOn(server, { settings }))

interface StartOptions {
  readonly settings?: SettingsInput
  /** Of the commands of agents, where they differ from the usual ones. */
  readonly limits?: Partial<SandboxLimits> | undefined
  /** False: does not wait until requests are answered. */
  readonly waits?: boolean
}

/** Starts a replica on another database. */
export const startServiceOn = (server: Server, { settings = {}, limits, waits = true }: StartOptions = {}) =>
  Effect.gen(function* () {
    const values = settingsForTests({
      ...settings,
      Server: { Port: 0, ...settings.Server },
      Auth: {
        Keys: Object.entries(users).map(([User, Token]) => ({ User, Token })),
        ...settings.Auth,
      },
    })
    const usual = yield* Layer.build(
      Layer.fresh(
        coreServices.pipe(
          Layer.provideMerge(Sql.layer({ server, applicationName: "test" })),
          Layer.provideMerge(Layer.succeed(Settings, values)),
        ),
      ),
    )
    const services =
      limits === undefined
        ? usual
        : Context.add(usual, Sandbox, yield* localSandbox(values.Data.Directory, { ...defaultLimits, ...limits }))
    const { port, ready } = yield* Effect.provideContext(startReplica(), services)
    const whenReady = Effect.orDie(Effect.provideContext(ready, services))
    yield* waits ? whenReady : Effect.forkScoped(whenReady)
    return {
      port,
      url: `http://127.0.0.1:${port}`,
      services,
      log: Context.get(services, EventLog),
      runs: Context.get(services, Runs),
      projects: Context.get(services, Projects),
      sql: Context.get(services, Sql),
    }
  })
