/** A PostgreSQL of the bench's own, embedded, in a temporary folder, with the core's tables. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { type Effect, Layer, ManagedRuntime } from "effect"
import { EventLog } from "#core/event-log.ts"
import { migrate } from "#core/migrate.ts"
import { Sql } from "#core/sql.ts"
import { layerEmbedded } from "#runtime/database/embedded.ts"
import { DatabaseServer } from "#runtime/database/server.ts"

export interface BenchDatabase {
  readonly folder: string
  readonly socketFolder: string
  readonly port: number
  readonly user: string
  readonly name: string
  readonly run: <A, E>(effect: Effect.Effect<A, E, Sql | EventLog>) => Promise<A>
}

const migrations = resolve(import.meta.dirname, "../core/migrations")

export const withBenchDatabase = async <A>(use: (database: BenchDatabase) => Promise<A>): Promise<A> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-bench-"))
  const server = ManagedRuntime.make(layerEmbedded(folder))
  try {
    const address = (await server.runPromise(DatabaseServer)).server
    if (!("host" in address)) throw new Error("an embedded server has a host")
    const { host, port, user, database } = address
    const log = ManagedRuntime.make(EventLog.layer.pipe(Layer.provideMerge(Sql.layer({ server: address }))))
    try {
      await log.runPromise(migrate([{ owner: "core", directory: migrations }]))
      return await use({
        folder,
        socketFolder: host,
        port,
        user,
        name: database,
        run: (effect) => log.runPromise(effect),
      })
    } finally {
      await log.dispose()
    }
  } finally {
    await server.dispose()
    await rm(folder, { recursive: true, force: true })
  }
}
