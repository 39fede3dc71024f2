/** The routes by which administrators see and switch plugins. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { PluginFailed } from "#core/plugin.ts"
import { candidate, get } from "#test/contract/plugin.ts"
import { callRoute } from "#test/support/call-route.ts"
import { coreServices } from "#test/support/core-services.ts"
import { hostOf } from "#test/support/plugin-host.ts"

layer(coreServices(), { excludeTestServices: true, timeout: "60 seconds" })("the plugin routes", (it) => {
  const failsOnce = () => {
    let fails = false
    return {
      fail: () => {
        fails = true
      },
      plugin: candidate("notes", {
        setup: () =>
          Effect.suspend(() =>
            fails ? new PluginFailed({ message: "later" }) : Effect.succeed({ routes: [get("/api/notes")] }),
          ),
      }),
    }
  }

  it.effect("show and switch plugins for administrators, and for nobody else", () =>
    Effect.gen(function* () {
      const host = yield* hostOf([
        candidate("notes", { description: "Notes." }),
        candidate("other", { requires: ["notes"] }),
      ])
      const call = yield* callRoute(host.adminRoutes)
      const as = "admin"
      const reading = [
        "/api/plugins",
        "/api/diagnostics/plugins",
        "/api/plugins/notes/faults",
        "/api/plugins/notes/receipts",
      ]
      for (const path of reading) {
        expect((yield* call("GET", path)).status).toBe(403)
        expect((yield* call("GET", path, { as })).status).toBe(200)
      }
      expect((yield* call("POST", "/api/plugins/notes/disable")).status).toBe(403)
      const listed = yield* call("GET", "/api/plugins", { as })
      expect(listed.body[0]).toMatchObject({
        name: "notes",
        version: "0.1.0",
        source: "built-in",
        state: "running",
        reasons: [],
        description: "Notes.",
      })

      expect(yield* call("POST", "/api/plugins/notes/disable", { as })).toMatchObject({
        status: 409,
        body: { error: "plugin_required", required_by: ["other"] },
      })
      expect((yield* call("POST", "/api/plugins/other/disable", { as })).body).toMatchObject({ state: "disabled" })
      expect((yield* call("POST", "/api/plugins/notes/disable", { as })).body).toMatchObject({ state: "disabled" })
      expect((yield* call("POST", "/api/plugins/notes/disable", { as })).body).toMatchObject({ state: "disabled" })
      expect(yield* call("POST", "/api/plugins/other/enable", { as })).toMatchObject({
        status: 409,
        body: { error: "plugin_not_startable" },
      })
      expect((yield* call("POST", "/api/plugins/notes/enable", { as })).body).toMatchObject({ state: "running" })
      expect((yield* call("POST", "/api/plugins/notes/enable", { as })).body).toMatchObject({ state: "running" })
      expect(yield* call("POST", "/api/plugins/x/enable", { as })).toMatchObject({
        status: 404,
        body: { error: "plugin_not_found" },
      })
    }),
  )

  it.effect("leave the running plugin where it cannot be set up anew", () =>
    Effect.gen(function* () {
      const { fail, plugin } = failsOnce()
      const host = yield* hostOf([plugin])
      const call = yield* callRoute([...(yield* host.routes), ...host.adminRoutes])
      fail()
      expect(yield* call("POST", "/api/plugins/notes/reload", { as: "admin" })).toMatchObject({
        status: 409,
        body: { error: "plugin_not_startable", reasons: ["It could not start: later"] },
      })
      expect((yield* call("GET", "/api/notes")).status).toBe(200)
    }),
  )
})
