/**
 * Finds the third-party plugins that the settings name: a module by its path, or an npm package. Nothing else is ever
 * loaded; nothing is searched for. A module that cannot be loaded is a plugin that is refused, with the reason.
 *
 * Such a plugin is code of this process, with all its rights: what must be kept in bounds is WebAssembly.
 */
import { createRequire } from "node:module"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { Duration, Effect, Schema } from "effect"
import { definePlugin, type Plugin, PluginFailed } from "#core/plugin.ts"
import type { SettingsValues } from "#core/settings.ts"
import type { Candidate, PluginSource } from "#runtime/plugin-host/candidate.ts"
import { kit } from "#runtime/plugin-host/kit.ts"

type NativePlugin = SettingsValues["Plugins"]["Native"][number]

/** A module may wait at its top level; not for ever. */
const loadLimit = Duration.seconds(15)

export interface LoadNativeOptions {
  readonly plugins: ReadonlyArray<NativePlugin>
  /** Absolute: paths are relative to it, and packages are installed in it. */
  readonly workingDirectory: string
  /** They are listed, but not one line of them is run. */
  readonly safeMode?: boolean
}

export const loadNative = ({
  plugins,
  workingDirectory,
  safeMode = false,
}: LoadNativeOptions): Effect.Effect<ReadonlyArray<Candidate>> =>
  Effect.forEach(plugins, (entry) => {
    const source = sourceOf(entry, workingDirectory)
    const unread: Candidate = { plugin: placeholder(entry.Name), source }
    if (safeMode) return Effect.succeed(unread)
    return load(entry, source, workingDirectory).pipe(
      Effect.map((plugin): Candidate => ({ plugin, source })),
      Effect.catchTag("PluginFailed", ({ message }) => Effect.succeed({ ...unread, problem: message })),
    )
  })

const sourceOf = ({ Path, Package = "" }: NativePlugin, workingDirectory: string): PluginSource =>
  Path === undefined ? { kind: "package", package: Package } : { kind: "path", path: resolve(workingDirectory, Path) }

const placeholder = (name: string): Plugin =>
  definePlugin({ name, setup: () => new PluginFailed({ message: "It was not loaded." }) })

const load = Effect.fnUntraced(function* (entry: NativePlugin, source: PluginSource, workingDirectory: string) {
  const fail = (what: string) => (error: unknown) =>
    new PluginFailed({ message: `${what}: ${error instanceof Error ? error.message : String(error)}` })
  const file = yield* Effect.try({
    try: () => fileOf(source, workingDirectory),
    catch: fail("It cannot be found"),
  })
  const module: { readonly default?: unknown } = yield* Effect.tryPromise({
    try: () => import(pathToFileURL(file).href),
    catch: fail("It cannot be loaded"),
  }).pipe(
    Effect.timeoutOrElse({
      duration: loadLimit,
      orElse: () => new PluginFailed({ message: `It was not loaded within ${Duration.toSeconds(loadLimit)} s.` }),
    }),
  )
  const plugin = yield* Effect.try({ try: () => pluginOf(module.default), catch: fail("Its module threw") })
  if (plugin === undefined) {
    return yield* new PluginFailed({
      message: "The default export of its module is neither a plugin nor a function that gives one.",
    })
  }
  if (plugin.name !== entry.Name) {
    return yield* new PluginFailed({
      message: `The settings call it ${entry.Name}, but its module says ${plugin.name}: make them the same.`,
    })
  }
  return plugin
})

const fileOf = (source: PluginSource, workingDirectory: string): string =>
  source.kind === "path"
    ? source.path
    : createRequire(resolve(workingDirectory, "package.json")).resolve(source.kind === "package" ? source.package : "")

const pluginOf = (exported: unknown): Plugin | undefined => {
  const made: unknown = typeof exported === "function" ? exported(kit) : exported
  return isPlugin(made) ? made : undefined
}

const Words = Schema.optionalKey(Schema.Array(Schema.String))
const Word = Schema.optionalKey(Schema.String)

/** What is read of a plugin without running it. What it contributes is looked at when it has. */
const isDeclared = Schema.is(
  Schema.Struct({
    name: Schema.String,
    version: Word,
    description: Word,
    engine: Word,
    requires: Words,
    routes: Words,
    hooks: Words,
    events: Schema.optionalKey(Schema.Array(Schema.Struct({ type: Schema.String }))),
    migrations: Schema.optionalKey(
      Schema.Union([
        Schema.String,
        Schema.Array(Schema.Struct({ id: Schema.Int, name: Schema.String, sql: Schema.String })),
      ]),
    ),
  }),
)

const isPlugin = (value: unknown): value is Plugin =>
  isDeclared(value) && "setup" in value && typeof value.setup === "function"
