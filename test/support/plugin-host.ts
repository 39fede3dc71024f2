/** A plugin host of its own, on the services of the test, closed with the test's scope. */
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import { type AgentToolSource, AgentTools } from "#core/agent-tools.ts"
import { Hooks, type HooksShape } from "#core/hook.ts"
import type { CoreServices } from "#core/plugin.ts"
import { type SettingsInput, settingsForTests } from "#core/settings.ts"
import { questions } from "#policies/questions.ts"
import { PluginAdministration } from "#runtime/plugin-host/administration.ts"
import type { Candidate } from "#runtime/plugin-host/candidate.ts"
import { hooksLayer } from "#runtime/plugin-host/hooks/layer.ts"
import { PluginHost, type PluginHostOptions, type PluginHostShape } from "#runtime/plugin-host/host.ts"
import { pluginRoutes } from "#runtime/plugin-host/routes.ts"

export interface TestHost extends PluginHostShape {
  readonly hooks: HooksShape
  readonly agentTools: AgentToolSource
  readonly adminRoutes: Effect.Success<typeof pluginRoutes>
}

/** Started. `settings` is the section `Plugins`. */
export const hostOf = Effect.fnUntraced(function* (
  candidates: ReadonlyArray<Candidate>,
  settings: SettingsInput["Plugins"] = {},
  options: Partial<PluginHostOptions> = {},
) {
  const home = { plugins: join(tmpdir(), `svc-test-plugins-${crypto.randomUUID()}`), world: { version: "0.1.0" } }
  const host = PluginHost.layer({
    candidates,
    settings: settingsForTests({ Plugins: settings }).Plugins,
    version: "0.1.0",
    questions,
    coreRoutes: [],
    coreEvents: ["run.started"],
    ...options,
  }).pipe(Layer.provideMerge(hooksLayer))
  const administration = PluginAdministration.layer(home, { installed: [], switches: new Map() })
  yield* Effect.addFinalizer(() => Effect.promise(() => rm(home.plugins, { recursive: true, force: true })))
  const services = yield* Effect.context<Exclude<CoreServices, Hooks>>()
  const context = yield* Layer.build(Layer.fresh(Layer.provideMerge(administration, host))).pipe(
    Effect.provideContext(services),
  )
  const plugins = Context.get(context, PluginHost)
  yield* plugins.start
  const adminRoutes = yield* Effect.provideContext(pluginRoutes, Context.merge(services, context))
  const agentTools = Context.get(context, AgentTools)
  const made: TestHost = { ...plugins, hooks: Context.get(context, Hooks), agentTools, adminRoutes }
  return made
})
