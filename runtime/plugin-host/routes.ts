/** Plugins over HTTP, for platform administrators: the state of each, switching, faults, and one look at all of it. */
import { Effect, Schema } from "effect"
import { access, type Route, route } from "#core/route.ts"
import { PluginHost } from "#runtime/plugin-host/host.ts"
import { FaultReport, PluginDiagnostics, PluginReport } from "#runtime/plugin-host/report.ts"
import type { Place } from "#runtime/plugin-host/route-table.ts"

const tag = "Plugins"

type Nothing = Record<never, never>
interface ByName {
  readonly name: string
}

/** Where the routes below are: no plugin can have these places. */
export const pluginRoutePlaces: ReadonlyArray<Place> = [
  { method: "GET", path: "/api/plugins" },
  { method: "POST", path: "/api/plugins/{name}/enable" },
  { method: "POST", path: "/api/plugins/{name}/disable" },
  { method: "POST", path: "/api/plugins/{name}/reload" },
  { method: "GET", path: "/api/plugins/{name}/faults" },
  { method: "GET", path: "/api/diagnostics/plugins" },
]

export const pluginRoutes: Effect.Effect<ReadonlyArray<Route>, never, PluginHost> = Effect.gen(function* () {
  const host = yield* PluginHost
  const switching = (
    verb: "enable" | "disable" | "reload",
    summary: string,
    refuses: NonNullable<Route["refuses"]>,
  ): Route =>
    route<ByName, Nothing, undefined, PluginReport>({
      method: "POST",
      path: `/api/plugins/{name}/${verb}`,
      access: access.platformAdmin,
      summary,
      tag,
      answer: PluginReport,
      refuses: ["plugin_not_found", ...refuses],
      handle: ({ params }) => host[verb](params.name),
    })
  return [
    route<Nothing, Nothing, undefined, ReadonlyArray<PluginReport>>({
      method: "GET",
      path: "/api/plugins",
      access: access.platformAdmin,
      summary: "Every plugin, with its state, the reasons for it, and what it contributes",
      tag,
      answer: Schema.Array(PluginReport),
      handle: () => host.list,
    }),
    switching("enable", "Start a plugin, also out of quarantine, until the service stops", ["plugin_not_startable"]),
    switching("disable", "Stop a plugin until the service is started again", ["plugin_required"]),
    switching("reload", "Set a plugin up anew; where that fails the running one stays", ["plugin_not_startable"]),
    route<ByName, Nothing, undefined, ReadonlyArray<FaultReport>>({
      method: "GET",
      path: "/api/plugins/{name}/faults",
      access: access.platformAdmin,
      summary: "The latest faults of a plugin, the newest first",
      tag,
      answer: Schema.Array(FaultReport),
      refuses: ["plugin_not_found"],
      handle: ({ params }) => host.faults(params.name),
    }),
    route<Nothing, Nothing, undefined, PluginDiagnostics>({
      method: "GET",
      path: "/api/diagnostics/plugins",
      access: access.platformAdmin,
      summary: "Do all plugins run that should?",
      tag,
      answer: PluginDiagnostics,
      handle: () => host.diagnostics,
    }),
  ]
})
