/** Laws that hold for every route of the whole service at once. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Settings, settingsForTests } from "#core/settings.ts"
import { makeLifecycle } from "#gateway/lifecycle.ts"
import { makePlugins } from "#runtime/plugins.ts"
import { coreRoutes, withDocumentation } from "#runtime/routes.ts"
import { coreServices } from "#runtime/services.ts"
import { accessDifferences } from "#test/contract/access.ts"
import { toldToStrangers } from "#test/contract/strangers.ts"
import { testDatabase } from "#test/support/database.ts"
import { testGateway } from "#test/support/gateway.ts"

const services = coreServices.pipe(
  Layer.provideMerge(testDatabase),
  Layer.provideMerge(Layer.succeed(Settings, settingsForTests())),
)

const routes = Effect.gen(function* () {
  const core = yield* coreRoutes(makeLifecycle("serving"))
  const plugins = yield* makePlugins(yield* Settings, core, {})
  return withDocumentation([...core, ...(yield* plugins.routes)])
})

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("every route", (it) => {
  it.effect("lets in exactly those whom the interface names", () =>
    Effect.gen(function* () {
      const mounted = yield* routes
      expect(mounted.length).toBeGreaterThan(40)
      expect(accessDifferences(mounted)).toEqual([])
    }),
  )

  it.effect("tells a stranger nothing but 401, whatever else is wrong with the request", () =>
    Effect.gen(function* () {
      const mounted = yield* routes
      expect(yield* toldToStrangers(yield* testGateway(mounted), mounted)).toEqual([])
    }),
  )

  it.effect("is in the OpenAPI document, which has no dangling reference", () =>
    Effect.gen(function* () {
      const mounted = yield* routes
      const app = yield* testGateway(mounted)
      const text = yield* Effect.promise(async () => (await app.request("/openapi.json")).text())
      const { openapi, paths, components } = JSON.parse(text)
      expect(openapi).toMatch(/^3\.1\./)
      for (const { method, path, undocumented } of mounted) {
        if (undocumented === true || path === "/openapi.json") continue
        expect(paths[path.replaceAll("{**", "{")]?.[method.toLowerCase()], `${method} ${path}`).toBeDefined()
      }
      for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
        expect(components.schemas).toHaveProperty([name ?? ""])
      }
    }),
  )
})
