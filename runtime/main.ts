/**
 * Where things meet: settings become one set of services, the services become routes, the routes are
 * served until the process is asked to stop. It listens first and answers probes; everything else
 * is answered once the database is there and has this version's tables.
 */
import { mkdir } from "node:fs/promises"
import { Deferred, Duration, Effect, Layer, Schedule, Stream } from "effect"
import { Access } from "#core/auth/access.ts"
import { apiKeys } from "#core/auth/api-keys.ts"
import { runCapabilities } from "#core/auth/run-capability.ts"
import { migrate } from "#core/migrate.ts"
import { Projects } from "#core/project/projects.ts"
import { Settings, type SettingsValues } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { makeGateway } from "#gateway/app.ts"
import { makeLifecycle } from "#gateway/lifecycle.ts"
import { watchedLoad } from "#gateway/load.ts"
import { listen } from "#gateway/server.ts"
import { Streams } from "#gateway/streams/streams.ts"
import { runCoordinators } from "#runtime/coordinator/worker.ts"
import { layerDatabase } from "#runtime/database/layer.ts"
import { layer as layerLogging } from "#runtime/logging.ts"
import { migrations } from "#runtime/migrations.ts"
import { makePlugins } from "#runtime/plugins.ts"
import { coreRoutes, withDocumentation } from "#runtime/routes.ts"
import { runWorker } from "#runtime/runs/worker.ts"
import { coreServices } from "#runtime/services.ts"
import { stopSignal } from "#runtime/stop-signals.ts"
import { layer as layerTelemetry } from "#runtime/telemetry/telemetry.ts"
import { sweepWaits } from "#runtime/turn/gate/heartbeat.ts"
import { version } from "#runtime/version.ts"

/** How soon a database that is not there yet is asked again. */
const databasePause = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("2 seconds")])

/** Everything a replica is made of, but the listening socket. */
const serviceLayer = (settings: SettingsValues) =>
  coreServices.pipe(
    Layer.provideMerge(layerDatabase),
    Layer.provideMerge(Layer.mergeAll(layerLogging, layerTelemetry)),
    Layer.provideMerge(Layer.succeed(Settings, settings)),
  )

export interface ReplicaOptions {
  /** Without third-party plugins, whatever the settings say. */
  readonly safeMode?: boolean
}

export interface Replica {
  readonly port: number
  /** Resolves once requests are answered; fails where the database cannot be used by this version. */
  readonly ready: Effect.Effect<void, { readonly message: string }>
}

/** Listens, then makes the database and the plugins ready; stops gracefully when the scope closes. */
export const startReplica = Effect.fnUntraced(function* (options: ReplicaOptions = {}) {
  const settings = yield* Settings
  const { Server } = settings
  const lifecycle = makeLifecycle()
  yield* makeDataFolder(settings.Data.Directory)
  const streams = yield* Streams
  const core = yield* coreRoutes(lifecycle)
  const plugins = yield* makePlugins(settings, core, options)
  const load = yield* watchedLoad
  const access = yield* Access
  const keys = apiKeys(settings.Auth)
  const authenticators = [runCapabilities(yield* Sql, keys), keys]
  const mount = Effect.gen(function* () {
    return yield* makeGateway({
      routes: withDocumentation([...core, ...(yield* plugins.routes)]),
      authenticators,
      access,
      bodyLimit: Server.MaxBodyBytes,
      validateAnswers: false,
      corsOrigins: Server.CorsOrigins,
      requestTimeout: Duration.seconds(Server.RequestTimeoutSeconds),
      lifecycle,
      load,
    })
  })
  // exchanged as a whole when plugins come and go: a request is answered by one set of routes
  let gateway = yield* mount
  const remount = mount.pipe(
    Effect.tap((next) => Effect.sync(() => (gateway = next))),
    Effect.tapError(({ message }) => Effect.logError(message)),
    Effect.ignore,
  )
  const { port } = yield* listen(
    { fetch: (...request) => gateway.fetch(...request) },
    { server: Server, lifecycle, onDrain: [streams.handOver] },
  )
  const work = yield* Deferred.make<void>()
  yield* Deferred.await(work).pipe(
    Effect.andThen(runWorker),
    Effect.andThen(runCoordinators),
    Effect.andThen(sweepWaits),
    Effect.forkScoped,
  )
  const ready = makeReady.pipe(
    Effect.andThen(plugins.start),
    Effect.andThen(remount),
    Effect.andThen(Deferred.succeed(work, undefined)),
    Effect.andThen(Effect.sync(lifecycle.serve)),
  )
  yield* plugins.changes.pipe(
    Stream.runForEach(() => remount),
    Effect.forkScoped,
  )
  const services = yield* Effect.context<Projects | Sql>()
  return { port, ready: Effect.provideContext(ready, services) } satisfies Replica
})

/** Where that fails the service goes on: `/healthz/workspace` says so, and what needs the folder is refused. */
const makeDataFolder = (directory: string) =>
  Effect.tryPromise(() => mkdir(directory, { recursive: true, mode: 0o700 })).pipe(
    Effect.catch(() => Effect.logWarning(`The data folder cannot be made: ${directory}`)),
  )

const makeReady = Effect.gen(function* () {
  const projects = yield* Projects
  yield* migrate(migrations).pipe(
    Effect.tap((applied) =>
      applied.length === 0 ? Effect.void : Effect.logInfo(`Applied ${applied.length} migrations`),
    ),
    Effect.andThen(projects.finishDeletes),
    Effect.tapError((failure) =>
      failure._tag === "DatabaseUnavailable"
        ? Effect.logWarning(`Waiting for the database: ${failure.message}`)
        : Effect.void,
    ),
    Effect.retry({ while: (failure) => failure._tag === "DatabaseUnavailable", schedule: databasePause }),
  )
})

/** Serves until SIGTERM or SIGINT, also while it starts, then stops: ends when everything is closed. */
export const serve = (settings: SettingsValues, options: ReplicaOptions = {}): Promise<void> => {
  const running = Effect.gen(function* () {
    const { port, ready } = yield* startReplica(options)
    yield* ready
    yield* Effect.logInfo(`svc ${version} is ready on http://${settings.Server.Host}:${port}`)
    return yield* Effect.never
  }).pipe(
    Effect.onInterrupt(() => Effect.logInfo("Stopping")),
    // it drains while the database is still there
    Effect.scoped,
    Effect.provide(serviceLayer(settings)),
  )
  const untilAsked = Effect.flatMap(stopSignal, ({ asked }) => Effect.raceFirst(running, asked))
  return Effect.runPromise(Effect.scoped(untilAsked))
}
