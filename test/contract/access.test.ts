import { it } from "@effect/vitest"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { access, type Route } from "#core/route.ts"
import { docsRoutes } from "#gateway/docs-page.ts"
import { makeLifecycle } from "#gateway/lifecycle.ts"
import { openApiRoute } from "#gateway/openapi.ts"
import { systemRoutes } from "#gateway/system-routes.ts"
import { accessDifferences } from "#test/contract/access.ts"

const route = (method: Route["method"], path: string, needed: Route["access"]): Route => ({
  method,
  path,
  access: needed,
  summary: "",
  tag: "",
  handle: () => Effect.void,
})

describe("the access of routes", () => {
  it.effect("is that of the interface for those of the gateway itself", () =>
    Effect.gen(function* () {
      const system = yield* systemRoutes({
        version: "",
        lifecycle: makeLifecycle(),
        dataDirectory: "/",
        database: Effect.void,
        metricsText: Effect.succeed(""),
        publicMetrics: false,
        runtime: { kubernetes: false, podName: null },
        aiConfigured: false,
      })
      const info = { title: "", version: "", description: "" }
      expect(accessDifferences([...system, ...docsRoutes, openApiRoute([], info)])).toEqual([])
    }),
  )

  it("differs where a role, the hiding of existence, or the whole route is not that of the table", () => {
    const path = "/api/runs/{anyName}/files/{**path}"
    const hidden = { param: "anyName", hidesExistence: true }
    expect(accessDifferences([route("GET", path, access.run("viewer", hidden))])).toEqual([])
    expect(accessDifferences([route("GET", path, access.run("owner", hidden))])).toHaveLength(1)
    expect(accessDifferences([route("GET", path, access.run("viewer", { param: "anyName" }))])).toHaveLength(1)
    expect(accessDifferences([route("GET", path, access.public)])).toHaveLength(2)
    expect(accessDifferences([route("POST", "/api/runs/{id}/explode", access.public)])).toHaveLength(1)
    expect(
      accessDifferences([
        route("POST", "/api/runs/{id}/sandbox/preview", access.run("contributor", { internal: true })),
      ]),
    ).toEqual([])
  })
})
