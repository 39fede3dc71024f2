/**
 * One PostgreSQL for a whole run of the tests, started before the first file and removed after the
 * last, with a template that has every migration applied.
 */
import { existsSync } from "node:fs"
import { glob, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import type { TestProject } from "vitest/node"
import { migrate } from "#core/migrate.ts"
import { Sql } from "#core/sql.ts"
import { layerEmbedded } from "#runtime/database/embedded.ts"
import { DatabaseServer } from "#runtime/database/server.ts"
import { adminStatement, type TestServer, templateName } from "#test/support/database-names.ts"

declare module "vitest" {
  export interface ProvidedContext {
    databaseServer: TestServer
  }
}

const root = resolve(import.meta.dirname, "../..")

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "svc-test-"))
  // the services that tests start and kill compile the same files again and again
  process.env.NODE_COMPILE_CACHE ??= join(root, "node_modules/.cache/node")
  const runtime = ManagedRuntime.make(layerEmbedded(folder))
  const { server } = await runtime.runPromise(DatabaseServer)
  if (!("host" in server)) throw new Error("an embedded server has a host")
  const { host, port, user, database } = server
  const address: TestServer = { host, port, user, database }
  await runtime.runPromise(makeTemplate(address))
  project.provide("databaseServer", address)
  return async () => {
    await runtime.dispose()
    await rm(folder, { recursive: true, force: true })
  }
}

const makeTemplate = Effect.fnUntraced(function* (address: TestServer) {
  const plugins = yield* Effect.promise(() => Array.fromAsync(glob("plugins/*/migrations", { cwd: root })))
  const folders = ["core/migrations", ...plugins].filter((folder) => existsSync(join(root, folder)))
  const migrations = folders.map((folder) => ({
    owner: folder.split("/").at(-2) ?? folder,
    directory: join(root, folder),
  }))
  yield* adminStatement(address, `create database ${templateName}`)
  const template = Sql.layer({ server: { ...address, database: templateName }, poolSize: 1 })
  yield* migrate(migrations).pipe(Effect.provide(Layer.fresh(template)))
})
