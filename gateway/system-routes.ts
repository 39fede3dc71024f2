import { Effect, Schema } from "effect"
import { access, type Route, route } from "#core/route.ts"
export const systemRoutes = (_: {
  routes: ReadonlyArray<Route>
  lifecycle: unknown
  version: string
  metricsText: Effect.Effect<string>
}) =>
  Effect.succeed([
    route<Record<never, never>, Record<never, never>, undefined, { status: string }>({
      method: "GET",
      path: "/api/ping",
      access: access.public,
      summary: "ping",
      tag: "System",
      answer: Schema.Struct({ status: Schema.String }),
      handle: () => Effect.succeed({ status: "ok" }),
    }),
  ])
