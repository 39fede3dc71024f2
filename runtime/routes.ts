/** Every route that this service answers, from the services of the core. */
import { Effect } from "effect"
import { Metrics } from "#core/ports/metrics.ts"
import { accessRoutes } from "#core/project/access-routes.ts"
import { projectRoutes } from "#core/project/routes.ts"
import type { Route } from "#core/route.ts"
import { controlRoutes } from "#core/run/control-routes.ts"
import { fileRoutes } from "#core/run/file-routes.ts"
import { runRoutes } from "#core/run/routes.ts"
import { startRoutes } from "#core/run/start-routes.ts"
import { Settings, type SettingsValues } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { docsRoutes } from "#gateway/docs-page.ts"
import type { Lifecycle } from "#gateway/lifecycle.ts"
import { openApiRoute } from "#gateway/openapi.ts"
import { streamRoutes } from "#gateway/streams/routes.ts"
import { systemRoutes } from "#gateway/system-routes.ts"
import { byokRoutes } from "#runtime/model/byok/routes.ts"
import { byokProvider, hostedProvider } from "#runtime/model/provider/provider.ts"
import { orchestrationRoutes } from "#runtime/orchestration/routes.ts"
import { insightRoutes } from "#runtime/runs/routes/insight.ts"
import { retryRoutes } from "#runtime/runs/routes/retry.ts"
import { reviewRoutes } from "#runtime/runs/routes/review.ts"
import { version } from "#runtime/version.ts"

const about = {
  title: "svc",
  version,
  description: "Turns a goal into a reviewed, merged change of a code repository by a team of AI agents.",
}

/** The routes of the core. */
export const coreRoutes = Effect.fnUntraced(function* (lifecycle: Lifecycle) {
  const settings = yield* Settings
  const sql = yield* Sql
  const metrics = yield* Metrics
  const system = yield* systemRoutes({
    version,
    lifecycle,
    dataDirectory: settings.Data.Directory,
    database: sql`select 1`,
    metricsText: metrics.text,
    publicMetrics: settings.Telemetry.PublicMetrics,
    runtime: whereWeRun(),
    aiConfigured: hasModelProvider(settings),
  })
  return [
    ...(yield* startRoutes),
    ...(yield* runRoutes),
    ...(yield* retryRoutes),
    ...(yield* fileRoutes),
    ...(yield* insightRoutes),
    ...(yield* orchestrationRoutes),
    ...(yield* byokRoutes),
    ...(yield* reviewRoutes),
    ...(yield* controlRoutes),
    ...(yield* streamRoutes),
    ...(yield* projectRoutes),
    ...(yield* accessRoutes),
    ...system,
  ]
})

/** The same routes with their documentation. */
export const withDocumentation = (routes: ReadonlyArray<Route>): ReadonlyArray<Route> => [
  ...routes,
  openApiRoute(routes, about),
  ...docsRoutes,
]

/** Everything that a service without plugins answers. */
export const allRoutes = (lifecycle: Lifecycle) => Effect.map(coreRoutes(lifecycle), withDocumentation)

/** A pod of Kubernetes has these variables; nothing else sets them. */
const whereWeRun = () => {
  const kubernetes = process.env.KUBERNETES_SERVICE_HOST !== undefined
  return { kubernetes, podName: kubernetes ? (process.env.HOSTNAME ?? null) : null }
}

const hasModelProvider = (settings: SettingsValues): boolean =>
  settings.Providers.Default === "scripted" ||
  settings.Providers.Default === "tape" ||
  hostedProvider(settings) !== null ||
  byokProvider(settings) !== null
