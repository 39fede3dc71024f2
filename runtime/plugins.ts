/** The plugins of this service: those that come with it, those that the settings add, and the policies that are installed. */
import { Context, Effect, Layer } from "effect"
import { policyEvents } from "#core/hook/events.ts"
import type { Plugin } from "#core/plugin.ts"
import type { Route } from "#core/route.ts"
import { runEvents } from "#core/run/events.ts"
import type { SettingsValues } from "#core/settings.ts"
import { memory } from "#plugins/memory/plugin.ts"
import { messages } from "#plugins/messages/plugin.ts"
import { sandboxPolicy } from "#plugins/sandbox-policy/plugin.ts"
import { questions } from "#policies/questions.ts"
import { PluginAdministration } from "#runtime/plugin-host/administration.ts"
import type { Candidate } from "#runtime/plugin-host/candidate.ts"
import { PluginHost } from "#runtime/plugin-host/host.ts"
import { loadNative } from "#runtime/plugin-host/native.ts"
import { installedCandidates } from "#runtime/plugin-host/packages/candidates.ts"
import { homeOf } from "#runtime/plugin-host/packages/home.ts"
import { type PackageRefused, refuse } from "#runtime/plugin-host/packages/refused.ts"
import { readSwitches } from "#runtime/plugin-host/packages/switches-file.ts"
import { pluginRoutePlaces, pluginRoutes } from "#runtime/plugin-host/routes.ts"
import { version } from "#runtime/version.ts"

/** One line is one feature: delete it with its folder, and the feature is gone. */
export const builtIn: ReadonlyArray<Plugin> = [memory, messages, sandboxPolicy]

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
  const home = homeOf(settings)
  const installed = yield* readable(installedCandidates(home), [], safeMode)
  const switches = yield* readable(readSwitches(home.plugins), new Map(), safeMode)
  const candidates: ReadonlyArray<Candidate> = [
    ...builtIn.map((plugin): Candidate => ({ plugin, source: { kind: "built-in" } })),
    ...native,
    ...installed,
  ]
  const host = PluginHost.layer({
    candidates,
    settings: settings.Plugins,
    version,
    questions,
    coreRoutes: [...core, ...pluginRoutePlaces],
    coreEvents: [...runEvents, ...policyEvents].map((event) => event.type),
    safeMode,
    switches,
  })
  const layer = PluginAdministration.layer(home, { installed, switches }).pipe(Layer.provideMerge(host))
  const context = yield* Layer.build(layer)
  const { start, changes, routes } = Context.get(context, PluginHost)
  const { follower } = Context.get(context, PluginAdministration)
  const scope = yield* Effect.scope
  const administration = yield* Effect.provideContext(pluginRoutes, context)
  return {
    /** Starts what is enabled, and follows what is installed from then on. */
    start: Effect.andThen(start, Effect.asVoid(Effect.forkIn(follower.run, scope))),
    changes,
    routes: Effect.map(routes, (contributed) => [...administration, ...contributed]),
  }
})

/** In safe mode a damaged plugins folder keeps nothing from starting: nothing of it would run. */
const readable = <A>(read: Effect.Effect<A, PackageRefused>, otherwise: A, safeMode: boolean) =>
  Effect.catch(read, (refusal) =>
    safeMode
      ? Effect.as(Effect.logWarning(refusal.message), otherwise)
      : refuse(refusal.reason, `${refusal.message} To start without third-party plugins: svc serve --safe-mode`),
  )
