/** Plugins over HTTP, for platform administrators: the state of each, switching, grants, faults, receipts, and one look at all of it. */
import { Effect, Schema } from "effect"
import { type Caller, subjectOf } from "#core/auth/caller.ts"
import { query } from "#core/query.ts"
import type { Refusal } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"
import { Sql } from "#core/sql.ts"
import { GrantReport, PluginAdministration } from "#runtime/plugin-host/administration.ts"
import { PluginHost } from "#runtime/plugin-host/host.ts"
import { ReceiptReport, receiptsOf } from "#runtime/plugin-host/receipts.ts"
import { FaultReport, PluginDiagnostics, PluginReport } from "#runtime/plugin-host/report.ts"
import type { Place } from "#runtime/plugin-host/route-table.ts"

type Nothing = Record<never, never>
interface ByName {
  readonly name: string
}

const common = { access: access.platformAdmin, tag: "Plugins" } as const

const defaultReceipts = 50
const mostReceipts = 500

const ReceiptsQuery = Schema.Struct({ limit: Schema.optionalKey(query.int({ minimum: 1, maximum: mostReceipts })) })
/** Strict: a member that is misspelt is as good as none, and would grant everything. */
const PermissionsBody = Schema.StructWithRest(
  Schema.Struct({
    permissions: Schema.optionalKey(
      Schema.Array(Schema.String).annotate({ description: "As the plugin names them; absent or empty: all." }),
    ),
  }),
  [
    Schema.Record(
      Schema.String.check(Schema.isPattern(/^(?!permissions$)/)),
      Schema.Unknown.check(Schema.makeFilter(() => "Expected permissions, and nothing else")),
    ),
  ],
)

/** Where the routes below are: no plugin can have these places. */
export const pluginRoutePlaces: ReadonlyArray<Place> = [
  { method: "GET", path: "/api/plugins" },
  { method: "DELETE", path: "/api/plugins/{name}" },
  { method: "POST", path: "/api/plugins/{name}/enable" },
  { method: "POST", path: "/api/plugins/{name}/disable" },
  { method: "POST", path: "/api/plugins/{name}/reload" },
  { method: "GET", path: "/api/plugins/{name}/grants" },
  { method: "POST", path: "/api/plugins/{name}/grant" },
  { method: "POST", path: "/api/plugins/{name}/revoke" },
  { method: "GET", path: "/api/plugins/{name}/faults" },
  { method: "GET", path: "/api/plugins/{name}/receipts" },
  { method: "GET", path: "/api/diagnostics/plugins" },
]

export const pluginRoutes = Effect.gen(function* () {
  const host = yield* PluginHost
  const administration = yield* PluginAdministration
  const sql = yield* Sql
  const changes = changingRoutes(host.reload, administration)
  const { follower } = administration
  const reading: ReadonlyArray<Route> = [
    route<Nothing, Nothing, undefined, ReadonlyArray<PluginReport>>({
      ...common,
      method: "GET",
      path: "/api/plugins",
      summary: "Every plugin, with its state, the reasons for it, and what it contributes",
      answer: Schema.Array(PluginReport),
      handle: () => host.list,
    }),
    route<ByName, Nothing, undefined, GrantReport>({
      ...common,
      method: "GET",
      path: "/api/plugins/{name}/grants",
      summary: "What a policy was granted, and what it waits for",
      answer: GrantReport,
      refuses: ["plugin_not_found", "conflict"],
      handle: ({ params }) => administration.grants(params.name),
    }),
    route<ByName, Nothing, undefined, ReadonlyArray<FaultReport>>({
      ...common,
      method: "GET",
      path: "/api/plugins/{name}/faults",
      summary: "The latest faults of a plugin, the newest first",
      answer: Schema.Array(FaultReport),
      refuses: ["plugin_not_found"],
      handle: ({ params }) => host.faults(params.name),
    }),
    route<ByName, typeof ReceiptsQuery.Type, undefined, ReadonlyArray<ReceiptReport>>({
      ...common,
      method: "GET",
      path: "/api/plugins/{name}/receipts",
      summary: "What a policy answered of late, in all runs, the newest first; also of one that is gone",
      query: ReceiptsQuery,
      answer: Schema.Array(ReceiptReport),
      handle: ({ params, query: { limit = defaultReceipts } }) =>
        Effect.provideService(receiptsOf(params.name, limit), Sql, sql),
    }),
    route<Nothing, Nothing, undefined, PluginDiagnostics>({
      ...common,
      method: "GET",
      path: "/api/diagnostics/plugins",
      summary: "Do all plugins run that should?",
      answer: PluginDiagnostics,
      handle: () =>
        Effect.map(host.diagnostics, (found) => {
          const problem = follower.problem()
          return problem === undefined
            ? found
            : { ...found, status: "degraded" as const, problems: [...found.problems, problem] }
        }),
    }),
  ]
  return [...reading, ...changes]
})

const changingRoutes = (
  reload: (name: string) => Effect.Effect<PluginReport, Refusal>,
  { enable, disable, grant, revoke, uninstall }: typeof PluginAdministration.Service,
): ReadonlyArray<Route> => {
  const switching = (
    verb: string,
    summary: string,
    refuses: NonNullable<Route["refuses"]>,
    change: (name: string) => Effect.Effect<PluginReport, Refusal>,
  ): Route =>
    route<ByName, Nothing, undefined, PluginReport>({
      ...common,
      method: "POST",
      path: `/api/plugins/{name}/${verb}`,
      summary,
      answer: PluginReport,
      refuses: ["plugin_not_found", ...refuses],
      handle: ({ params, caller }) => told(verb, params.name, caller, change(params.name)),
    })
  const granting = (verb: string, summary: string, change: typeof grant): Route =>
    route<ByName, Nothing, typeof PermissionsBody.Type, GrantReport>({
      ...common,
      method: "POST",
      path: `/api/plugins/{name}/${verb}`,
      summary,
      body: PermissionsBody,
      bodyOptional: true,
      answer: GrantReport,
      refuses: ["plugin_not_found", "conflict", "workspace_mount_unavailable"],
      handle: ({ params, body, caller }) =>
        told(verb, params.name, caller, change(params.name, body.permissions ?? [])),
    })
  return [
    switching(
      "enable",
      "Start a plugin, also out of quarantine; it lasts",
      ["plugin_not_startable", "workspace_mount_unavailable"],
      enable,
    ),
    switching("disable", "Stop a plugin; it lasts", ["plugin_required", "workspace_mount_unavailable"], disable),
    switching(
      "reload",
      "Set a plugin up anew; where that fails the running one stays",
      ["plugin_not_startable"],
      reload,
    ),
    granting("grant", "Grant a policy what it asks for; a version that waited for it takes over", grant),
    granting("revoke", "Take grants of a policy back; it does not run without them, and its guards refuse", revoke),
    route<ByName>({
      ...common,
      method: "DELETE",
      path: "/api/plugins/{name}",
      summary: "Uninstall a policy, with its grants",
      statuses: [204],
      refuses: ["plugin_not_found", "plugin_required", "conflict", "workspace_mount_unavailable"],
      handle: ({ params, caller }) =>
        told("uninstall", params.name, caller, Effect.as(uninstall(params.name), reply.empty())),
    }),
  ]
}

/** Who changed what is in the service's log. */
const told = <A>(change: string, plugin: string, caller: Caller, effect: Effect.Effect<A, Refusal>) =>
  Effect.tap(effect, () =>
    Effect.logInfo("An administrator changed a plugin", {
      audit: "plugin",
      change,
      plugin,
      by: subjectOf(caller),
    }),
  )
