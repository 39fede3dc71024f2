import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { reviewAccept } from "#policies/review/question.ts"
import { loadNative } from "#runtime/plugin-host/native.ts"
import { callRoute } from "#test/support/call-route.ts"
import { coreServices } from "#test/support/core-services.ts"
import { hostOf } from "#test/support/plugin-host.ts"

const native = [{ Name: "change-freeze", Path: "./plugin.ts" }]

const host = Effect.fnUntraced(function* (windows: ReadonlyArray<unknown> = []) {
  const candidates = yield* loadNative({ plugins: native, workingDirectory: import.meta.dirname })
  return yield* hostOf(candidates, { Settings: { "change-freeze": { Windows: windows } } })
})

const approval = {
  runId: "6f2c7a52-3a52-4a0c-9c1f-3f3f0c5b1a01",
  projectId: null,
  scope: "run",
  reviewer: "ada",
  submittedBy: "bob",
  treeHash: null,
  targetBranch: "main",
  files: [],
} as const

layer(coreServices(), { excludeTestServices: true, timeout: "30 seconds" })("the change freeze", (it) => {
  it.effect("lets approvals count until it is set, and again when it is over", () =>
    Effect.gen(function* () {
      const plugins = yield* host()
      const call = yield* callRoute(yield* plugins.routes)
      const hooks = plugins.hooks
      expect((yield* hooks.ask(reviewAccept, approval)).decision).toBe("allow")
      expect((yield* call("PUT", "/api/change-freeze", { body: { reason: "Release week" } })).status).toBe(403)

      const set = yield* call("PUT", "/api/change-freeze", { as: "admin", body: { reason: "Release week" } })
      expect(set).toMatchObject({ status: 200, body: { frozen: true, reason: "Release week", set_by: "admin" } })
      expect(yield* hooks.ask(reviewAccept, approval)).toEqual({
        decision: "refuse",
        reason: "Release week",
        policy: "change-freeze",
      })
      expect((yield* call("DELETE", "/api/change-freeze", { as: "admin" })).status).toBe(204)
      expect((yield* call("GET", "/api/change-freeze")).body).toMatchObject({ frozen: false })
      expect((yield* hooks.ask(reviewAccept, approval)).decision).toBe("allow")
    }),
  )

  it.effect("holds in the hours that the settings name", () =>
    Effect.gen(function* () {
      const everyDay = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
      const { hooks } = yield* host(everyDay.map((Day) => ({ Day, FromHour: 0, ToHour: 24 })))
      expect((yield* hooks.ask(reviewAccept, approval)).decision).toBe("refuse")
    }),
  )

  it.effect("says what is wrong with its settings", () =>
    Effect.gen(function* () {
      const { list } = yield* host([{ Day: "someday", FromHour: 0, ToHour: 25 }])
      const [report] = yield* list
      expect(report?.state).toBe("refused")
      expect(report?.reasons.map((reason) => reason.split(": ")[0])).toEqual([
        "Plugins:Settings:change-freeze:Windows:0:Day",
        "Plugins:Settings:change-freeze:Windows:0:ToHour",
      ])
    }),
  )
})
