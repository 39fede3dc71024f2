/** The plugins of this service: those that come with it, and those that the settings add. */
import { Context, Effect, Layer } from "effect"
import { policyEvents } from "#core/hook/events.ts"
import type { Plugin } from "#core/plugin.ts"
import type { Route } from "#core/route.ts"
import { runEvents } from "#core/run/events.ts"
import type { SettingsValues } from "#core/settings.ts"
import { questions } from "#policies/questions.ts"
import type { Candidate } from "#runtime/plugin-host/candidate.ts"
import { hooksLayer } from "#runtime/plugin-host/hooks/layer.ts"
import { PluginHost } from "#runtime/plugin-host/host.ts"
import { loadNative } from "#runtime/plugin-host/native.ts"
import { installedCandidates } from "#runtime/plugin-host/packages/candidates.ts"
import { pluginsFolder } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { pluginRoutePlaces, pluginRoutes } from "#runtime/plugin-host/routes.ts"
import { version } from "#runtime/version.ts"

/** One line is one feature: delete it with its folder, and the feature is gone. */
export const builtIn: ReadonlyArray<Plugin> = []

export interface PluginsOptions {
  readonly safeMode?: boolean
}

/** The host with its routes; nothing runs before `start`. It ends with the scope. */
export const makePlugins = Effect.fnUntraced(function* (
  settings: SettingsValues,
  core: ReadonlyArray<Route>,
  { safeMode = false }: PluginsOptions,
) {
  const native = yield* loadNative({ plugins: settings.Plugins.Native, workingDirectory: process.cwd(), safeMode })
  const installed = yield* installedCandidates({
    plugins: pluginsFolder(settings.Data.Directory),
    world: { version },
  })
  const candidates: ReadonlyArray<Candidate> = [
    ...builtIn.map((plugin): Candidate => ({ plugin, source: { kind: "built-in" } })),
    ...native,
    ...installed,
  ]
  const layer = PluginHost.layer({
    candidates,
    settings: settings.Plugins,
    version,
    questions,
    coreRoutes: [...core, ...pluginRoutePlaces],
    coreEvents: [...runEvents, ...policyEvents].map((event) => event.type),
    safeMode,
  }).pipe(Layer.provideMerge(hooksLayer))
  const context = yield* Layer.build(layer)
  const host = Context.get(context, PluginHost)
  const administration = yield* Effect.provideContext(pluginRoutes, context)
  return {
    start: host.start,
    changes: host.changes,
    routes: Effect.map(host.routes, (routes) => [...administration, ...routes]),
  }
})
