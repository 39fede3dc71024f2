/**
 * A PostgreSQL of the service's own, in its data folder: created at the first start, started and
 * stopped with the service, started again when it dies. Durable: acknowledged commits survive a kill
 * of the service, of the server, and of both.
 *
 * One service at a time may use a data folder; a second one is refused.
 */
import { join } from "node:path"
import { Effect, Layer, Ref, Schedule } from "effect"
import { type Cluster, closeCluster, openCluster, serverOf } from "#runtime/database/cluster.ts"
import { DatabaseNotStarted } from "#runtime/database/not-started.ts"
import { claim } from "#runtime/database/owner.ts"
import { type Postmaster, startPostmaster, stopPostmaster } from "#runtime/database/postmaster.ts"
import { DatabaseServer } from "#runtime/database/server.ts"

/** Pause before a server that died is started again: doubled with each failure. */
const restart = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")]).pipe(Schedule.jittered)

export const layerEmbedded = (dataDirectory: string): Layer.Layer<DatabaseServer, DatabaseNotStarted> =>
  Layer.effect(DatabaseServer, startEmbedded(dataDirectory))

const startEmbedded = Effect.fnUntraced(function* (dataDirectory: string) {
  const folder = join(dataDirectory, "database")
  yield* claim(folder)
  const cluster = yield* Effect.acquireRelease(
    attempt(() => openCluster(folder)),
    (opened) => Effect.promise(() => closeCluster(opened)),
  )
  const running = yield* Effect.acquireRelease(
    Effect.flatMap(
      attempt(() => startPostmaster(cluster)),
      Ref.make,
    ),
    (current) => Effect.flatMap(Ref.get(current), ({ pid }) => Effect.promise(() => stopPostmaster(cluster, pid))),
  )
  yield* Effect.forkScoped(watch(cluster, running))
  return DatabaseServer.of({ embedded: true, server: serverOf(cluster) })
})

/** Starts the server again whenever it ends. */
const watch = Effect.fnUntraced(function* (cluster: Cluster, running: Ref.Ref<Postmaster>) {
  while (true) {
    const { ended } = yield* Ref.get(running)
    yield* Effect.promise(() => ended)
    yield* Effect.logWarning("The database server ended. Starting it again.")
    // uninterruptible: a server that was started must be known to who stops it
    yield* attempt(() => startPostmaster(cluster)).pipe(
      Effect.flatMap((next) => Ref.set(running, next)),
      Effect.uninterruptible,
      Effect.tapError((failure) => Effect.logError(failure.message)),
      Effect.retry(restart),
      Effect.orDie,
    )
    yield* Effect.logInfo("The database server runs again.")
  }
})

const attempt = <A>(run: () => Promise<A>): Effect.Effect<A, DatabaseNotStarted> =>
  Effect.tryPromise({
    try: run,
    catch: (error) =>
      error instanceof DatabaseNotStarted
        ? error
        : new DatabaseNotStarted({ message: `The database could not be started: ${String(error)}` }),
  })
