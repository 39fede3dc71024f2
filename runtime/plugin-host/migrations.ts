/**
 * The migrations of a plugin, held to its own tables: whatever they create begins with the plugin's prefix. This keeps
 * authors from mistakes; it does not stop SQL that wants to reach further.
 */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { type Migrations, migrate } from "#core/migrate.ts"
import { type Plugin, PluginFailed, tablePrefix } from "#core/plugin.ts"
import type { DatabaseUnavailable, Sql } from "#core/sql.ts"

/** As `migrate` takes them; undefined for a plugin without tables. */
export const migrationsOf = ({ name, migrations }: Plugin): Migrations | undefined => {
  if (migrations === undefined) return undefined
  return typeof migrations === "string" ? { owner: name, directory: migrations } : { owner: name, steps: migrations }
}

/** Brings the plugin's tables to what it expects. Replicas wait for each other; what is applied already costs one look. */
export const migratePlugin = Effect.fnUntraced(function* (
  plugin: Plugin,
): Effect.fn.Return<void, PluginFailed | DatabaseUnavailable, Sql> {
  const migrations = migrationsOf(plugin)
  if (migrations === undefined) return
  const foreign = yield* foreignTables(plugin.name, migrations)
  if (foreign.length > 0) {
    return yield* new PluginFailed({
      message: `Its migrations create ${foreign.join(", ")}: what a plugin creates begins with ${tablePrefix(plugin.name)}.`,
    })
  }
  yield* migrate([migrations]).pipe(Effect.catchTag("MigrationRefused", ({ message }) => new PluginFailed({ message })))
})

const created =
  /\bcreate\s+(?:or\s+replace\s+)?(?:unique\s+|temporary\s+|temp\s+|unlogged\s+|materialized\s+)*(?:table|view|index|sequence|type|function|procedure|trigger)\s+(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?("?[a-z0-9_.]+"?)/gi
const comment = /--[^\n]*|\/\*[\s\S]*?\*\//g

/** Names that the migrations create and that are not the plugin's. */
const foreignTables = Effect.fnUntraced(function* (owner: string, migrations: Migrations) {
  const prefix = tablePrefix(owner)
  const texts = "steps" in migrations ? migrations.steps.map(({ sql }) => sql) : yield* textsIn(migrations.directory)
  const names = texts.flatMap((text) =>
    [...text.replace(comment, " ").matchAll(created)].map(([, name = ""]) => name.replaceAll('"', "").toLowerCase()),
  )
  return [...new Set(names.filter((name) => !name.startsWith(prefix)))]
})

const textsIn = (directory: string) =>
  Effect.tryPromise({
    try: async () => {
      const files = (await readdir(directory)).filter((name) => name.endsWith(".sql"))
      return Promise.all(files.map((name) => readFile(join(directory, name), "utf8")))
    },
    catch: (error) => new PluginFailed({ message: `Its migrations cannot be read: ${String(error)}` }),
  })
