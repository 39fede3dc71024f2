/** A plugin host of its own, on the services of the test, closed with the test's scope. */
import { Context, Effect, Layer } from "effect"
import { Hooks, type HooksShape } from "#core/hook.ts"
import type { CoreServices } from "#core/plugin.ts"
import { type SettingsInput, settingsForTests } from "#core/settings.ts"
import { questions } from "#policies/questions.ts"
import type { Candidate } from "#runtime/plugin-host/candidate.ts"
import { hooksLayer } from "#runtime/plugin-host/hooks/layer.ts"
import { PluginHost, type PluginHostOptions, type PluginHostShape } from "#runtime/plugin-host/host.ts"
import { pluginRoutes } from "#runtime/plugin-host/routes.ts"

export interface TestHost extends PluginHostShape {
  readonly hooks: HooksShape
  readonly adminRoutes: Effect.Success<typeof pluginRoutes>
}

/** Started. `settings` is the section `Plugins`. */
export const hostOf = Effect.fnUntraced(function* (
  candidates: ReadonlyArray<Candidate>,
  settings: SettingsInput["Plugins"] = {},
  options: Partial<PluginHostOptions> = {},
) {
  const host = PluginHost.layer({
    candidates,
    settings: settingsForTests({ Plugins: settings }).Plugins,
    version: "0.1.0",
    questions,
    coreRoutes: [],
    coreEvents: ["run.started"],
    ...options,
  }).pipe(Layer.provideMerge(hooksLayer))
  const context = yield* Layer.build(Layer.fresh(host)).pipe(
    Effect.provideContext(yield* Effect.context<Exclude<CoreServices, Hooks>>()),
  )
  const plugins = Context.get(context, PluginHost)
  yield* plugins.start
  const adminRoutes = yield* Effect.provideContext(pluginRoutes, context)
  const made: TestHost = { ...plugins, hooks: Context.get(context, Hooks), adminRoutes }
  return made
})
