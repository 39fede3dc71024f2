/** An embedded server of a test's own, for tests that stop, freeze or kill it. */
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer, type Scope } from "effect"
import type { Server } from "#core/sql.ts"
import { layerEmbedded } from "#runtime/database/embedded.ts"
import type { DatabaseNotStarted } from "#runtime/database/not-started.ts"
import { processesIn } from "#runtime/database/processes.ts"
import { DatabaseServer } from "#runtime/database/server.ts"

/** A folder that is removed with the scope. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => realpath(await mkdtemp(join(tmpdir(), "svc-private-")))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
)

/** The server of a data folder, running until the scope closes. */
export const startServer = (folder: string): Effect.Effect<Server, DatabaseNotStarted, Scope.Scope> =>
  Effect.map(Layer.build(Layer.fresh(layerEmbedded(folder))), (context) => Context.get(context, DatabaseServer).server)

/** Every process of the server of a data folder. */
export const serverProcesses = (folder: string): Effect.Effect<ReadonlyArray<number>> =>
  Effect.promise(async () => (await processesIn(clusterOf(folder))) ?? [])

/** The process that all the others descend from. */
export const postmasterOf = (folder: string): Effect.Effect<number> =>
  Effect.promise(async () => Number.parseInt(await readFile(join(clusterOf(folder), "postmaster.pid"), "utf8"), 10))

export const signalAll = (pids: ReadonlyArray<number>, signal: NodeJS.Signals): Effect.Effect<void> =>
  Effect.sync(() => {
    for (const pid of pids) process.kill(pid, signal)
  })

const clusterOf = (folder: string): string => join(folder, "database", "cluster")
