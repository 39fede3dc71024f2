/** What a plugin can do to the service: nothing but be missing. Over HTTP, on a database, with real plugins. */
import { expect, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { allowed, HookFault, handler, refusedBecause } from "#core/hook.ts"
import { background, PluginFailed, type PluginSpec } from "#core/plugin.ts"
import { access } from "#core/route.ts"
import { Sql } from "#core/sql.ts"
import { toolFor } from "#core/tool.ts"
import { modelChoose } from "#policies/model-choice/question.ts"
import { previewPublish } from "#policies/preview/question.ts"
import { raiReview } from "#policies/rai/question.ts"
import type { PluginHostShape } from "#runtime/plugin-host/host.ts"
import { loadNative } from "#runtime/plugin-host/native.ts"
import { candidate, get, guard, isQuarantined, model, preview, reportOf, review, until } from "#test/contract/plugin.ts"
import { callRoute } from "#test/support/call-route.ts"
import { coreServices } from "#test/support/core-services.ts"
import { hostOf } from "#test/support/plugin-host.ts"

layer(coreServices(), { excludeTestServices: true, timeout: "60 seconds" })("plugins", (it) => {
  it.effect("contribute routes, tools and hooks, which end with them", () =>
    Effect.gen(function* () {
      const closed = yield* Deferred.make<void>()
      const list = get("/api/notes")
      const host = yield* hostOf([
        candidate("notes", {
          hooks: ["preview.publish"],
          setup: Effect.fnUntraced(function* () {
            yield* Effect.addFinalizer(() => Deferred.succeed(closed, undefined))
            return {
              routes: [list],
              tools: [toolFor(list, { name: "note_list", description: "" })],
              hooks: [guard(() => Effect.succeed(refusedBecause("not today")))],
            }
          }),
        }),
      ])
      const call = yield* callRoute(yield* host.routes)
      expect((yield* call("GET", "/api/notes")).body).toEqual({ ok: true })
      expect((yield* host.tools).map(({ plugin, tool }) => [plugin, tool.name])).toEqual([["notes", "note_list"]])
      expect(yield* host.hooks.ask(previewPublish, preview)).toMatchObject({ decision: "refuse", policy: "notes" })

      yield* host.disable("notes")
      yield* Deferred.await(closed)
      expect(yield* call("GET", "/api/notes")).toMatchObject({
        status: 503,
        body: { error: "plugin_unavailable", plugin: "notes" },
      })
      expect([yield* host.routes, yield* host.tools]).toEqual([[], []])
      expect(yield* host.hooks.ask(previewPublish, preview)).toEqual(allowed)

      yield* host.enable("notes")
      expect((yield* call("GET", "/api/notes")).status).toBe(200)
    }),
  )

  it.effect.each<readonly [string, PluginSpec<undefined>["setup"], string]>([
    ["fails", () => new PluginFailed({ message: "no licence" }), "no licence"],
    [
      "throws",
      () => {
        throw new Error("thrown")
      },
      "thrown",
    ],
    ["dies", () => Effect.die(new Error("dead")), "dead"],
    [
      "dies after it opened something",
      () =>
        Effect.andThen(
          Effect.addFinalizer(() => Effect.die("again")),
          Effect.die("dead"),
        ),
      "dead",
    ],
  ])("that %s at the start is out: its routes answer 503, its guards refuse, the others run", ([, setup, why]) =>
    Effect.gen(function* () {
      const host = yield* hostOf([
        candidate("broken", {
          setup,
          routes: ["GET /api/broken/{id}"],
          hooks: ["preview.publish", "rai.review", "model.choose"],
        }),
        candidate("sound", { setup: () => Effect.succeed({ routes: [get("/api/sound")] }) }),
      ])
      expect(yield* reportOf(host, "broken")).toMatchObject({
        state: "quarantined",
        reasons: [expect.stringContaining(why)],
      })
      const call = yield* callRoute(yield* host.routes)
      expect((yield* call("GET", "/api/sound")).status).toBe(200)
      expect(yield* call("GET", "/api/broken/1")).toMatchObject({ status: 503, body: { plugin: "broken" } })
      expect((yield* call("GET", "/api/broken/1", { as: null })).status).toBe(401)
      expect(yield* host.hooks.ask(previewPublish, preview)).toMatchObject({ decision: "refuse", policy: "broken" })
      expect(yield* host.hooks.ask(raiReview, review)).toMatchObject({ verdict: "red", reason: "policy_unavailable" })
      expect(yield* host.hooks.ask(modelChoose, model)).toMatchObject({ modelId: "m" })
    }),
  )

  it.effect("that throw at a request five times are out; the others never notice", () =>
    Effect.gen(function* () {
      const throws = get("/api/throws", () => {
        throw new Error("oops")
      })
      const host = yield* hostOf([
        candidate("notes", { setup: () => Effect.succeed({ routes: [throws, get("/api/notes")] }) }),
        candidate("sound", { setup: () => Effect.succeed({ routes: [get("/api/sound")] }) }),
      ])
      const call = yield* callRoute(yield* host.routes)
      for (let n = 0; n < 5; n++) expect((yield* call("GET", "/api/throws")).status).toBe(500)
      expect(yield* call("GET", "/api/notes")).toMatchObject({ status: 503, body: { error: "plugin_unavailable" } })
      expect((yield* call("GET", "/api/sound")).status).toBe(200)
      expect((yield* host.faults("notes"))[0]).toMatchObject({
        kind: "request",
        subject: "GET /api/throws",
        message: expect.stringContaining("oops"),
      })
      expect(yield* host.diagnostics).toMatchObject({ status: "degraded", running: 1, quarantined: 1 })

      yield* host.enable("notes")
      expect((yield* call("GET", "/api/notes")).status).toBe(200)
    }),
  )

  it.effect("that refuse a request, or wait for a database that is gone, are not at fault", () =>
    Effect.gen(function* () {
      const unsure = handler(previewPublish, () =>
        Effect.fail(new HookFault({ reason: "unavailable", message: "no database" })),
      )
      const host = yield* hostOf([
        candidate("notes", { hooks: ["preview.publish"], setup: () => Effect.succeed({ hooks: [unsure] }) }),
      ])
      for (let n = 0; n < 6; n++) {
        expect(yield* host.hooks.ask(previewPublish, preview)).toMatchObject({ decision: "refuse" })
      }
      expect(yield* reportOf(host, "notes")).toMatchObject({ state: "running", faults: 0 })
    }),
  )

  it.effect("whose guard faults five times are out, and still refuse", () =>
    Effect.gen(function* () {
      const host = yield* hostOf([
        candidate("notes", {
          hooks: ["preview.publish"],
          setup: () => Effect.succeed({ hooks: [guard(() => Effect.die("dead"))] }),
        }),
      ])
      for (let n = 0; n < 5; n++) yield* host.hooks.ask(previewPublish, preview)
      expect(yield* isQuarantined(host, "notes")).toBe(true)
      expect(yield* host.hooks.ask(previewPublish, preview)).toMatchObject({ decision: "refuse", policy: "notes" })
      yield* host.disable("notes")
      expect(yield* host.hooks.ask(previewPublish, preview)).toEqual(allowed)
    }),
  )

  it.effect("whose background task fails again and again are out", () =>
    Effect.gen(function* () {
      const host = yield* hostOf([
        candidate("notes", {
          setup: Effect.fnUntraced(function* () {
            for (let n = 0; n < 5; n++) yield* background(`task ${n}`, Effect.die("dead"))
            return { routes: [get("/api/notes")] }
          }),
        }),
      ])
      yield* until(host, isQuarantined(host, "notes"))
      const call = yield* callRoute(yield* host.routes)
      expect((yield* call("GET", "/api/notes")).status).toBe(503)
      expect((yield* host.faults("notes"))[0]).toMatchObject({ kind: "background" })
    }),
  )

  it.effect("end their background tasks with themselves, which is no fault", () =>
    Effect.gen(function* () {
      const ended = yield* Deferred.make<void>()
      const host = yield* hostOf([
        candidate("notes", {
          setup: () =>
            Effect.as(background("wait", Effect.ensuring(Effect.never, Deferred.succeed(ended, undefined))), {}),
        }),
      ])
      yield* host.disable("notes")
      yield* Deferred.await(ended)
      expect(yield* host.faults("notes")).toEqual([])
    }),
  )

  it.effect("are closed after the last request that they answer", () =>
    Effect.gen(function* () {
      const [asked, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const order: Array<string> = []
      const slow = get("/api/slow", () =>
        Deferred.succeed(asked, undefined).pipe(
          Effect.andThen(Deferred.await(go)),
          Effect.map(() => {
            order.push("answered")
            return { ok: true }
          }),
        ),
      )
      const closed = yield* Deferred.make<void>()
      const close = Effect.suspend(() => {
        order.push("closed")
        return Deferred.succeed(closed, undefined)
      })
      const host = yield* hostOf([
        candidate("notes", {
          setup: () =>
            Effect.as(
              Effect.addFinalizer(() => close),
              { routes: [slow] },
            ),
        }),
      ])
      const call = yield* callRoute(yield* host.routes)
      const request = yield* Effect.forkChild(call("GET", "/api/slow"))
      yield* Deferred.await(asked)
      yield* host.disable("notes")
      expect((yield* call("GET", "/api/slow")).status).toBe(503)
      yield* Deferred.succeed(go, undefined)
      expect((yield* Fiber.join(request)).status).toBe(200)
      yield* Deferred.await(closed)
      expect(order).toEqual(["answered", "closed"])
    }),
  )

  it.effect("whose own fiber fails have a fault", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const host = yield* hostOf([
        candidate("notes", {
          setup: () => Effect.as(Effect.forkScoped(Effect.andThen(Deferred.await(go), Effect.die("dead"))), {}),
        }),
      ])
      yield* Deferred.succeed(go, undefined)
      yield* Effect.yieldNow
      yield* Effect.yieldNow
      expect(yield* host.faults("notes")).toMatchObject([{ kind: "background", message: "dead" }])
    }),
  )

  it.effect.each<readonly [string, Partial<PluginSpec<undefined>>, string]>([
    [
      "a route of the core",
      { setup: () => Effect.succeed({ routes: [get("/api/runs/{runId}")] }) },
      "The route GET /api/runs/{runId} belongs to core.",
    ],
    [
      "a route of another",
      { setup: () => Effect.succeed({ routes: [get("/api/first/{x}")] }) },
      "The route GET /api/first/{x} belongs to first.",
    ],
    [
      "a tool of another",
      {
        setup: () => {
          const own = get("/api/own")
          return Effect.succeed({ routes: [own], tools: [toolFor(own, { name: "first_get", description: "" })] })
        },
      },
      "The tool first_get belongs to first.",
    ],
    [
      "an event type of the core",
      { events: [{ type: "run.started" }] },
      "The event type run.started belongs to the core.",
    ],
    [
      "a path that cannot be mounted",
      { setup: () => Effect.succeed({ routes: [get("api")] }) },
      "GET api: the path is not one of the form",
    ],
    [
      "access by a parameter that the path has not",
      {
        setup: () => Effect.succeed({ routes: [{ ...get("/api/own"), access: access.run("viewer") }] }),
      },
      "GET /api/own: access depends on {id}, which the path does not have",
    ],
    [
      "a route that it did not tell of",
      { routes: ["GET /api/other"], setup: () => Effect.succeed({ routes: [get("/api/own")] }) },
      "The route GET /api/own is not among those that the plugin told of in advance.",
    ],
    [
      "a guard that it did not tell of",
      { setup: () => Effect.succeed({ hooks: [guard(() => Effect.succeed(allowed))] }) },
      "It answers preview.publish, which fails closed, and did not tell so in advance: add it to the plugin's hooks.",
    ],
    [
      "tables of others",
      { migrations: [{ id: 1, name: "x", sql: "create table notes (id int)" }] },
      "It could not start: Its migrations create notes: what a plugin creates begins with second_.",
    ],
  ])("that claim %s do not run, and the first goes on", ([, more, problem]) =>
    Effect.gen(function* () {
      const own = get("/api/first/{id}")
      const first = candidate("first", {
        setup: () => Effect.succeed({ routes: [own], tools: [toolFor(own, { name: "first_get", description: "" })] }),
      })
      const host = yield* hostOf([first, candidate("second", more)], {}, { coreRoutes: [get("/api/runs/{id}")] })
      expect((yield* reportOf(host, "second"))?.reasons).toEqual([expect.stringContaining(problem)])
      expect(yield* reportOf(host, "first")).toMatchObject({ state: "running", reasons: [] })
      const call = yield* callRoute(yield* host.routes)
      expect((yield* call("GET", "/api/first/1")).status).toBe(200)
    }),
  )

  it.effect("of a name that is taken are refused without touching the one that has it", () =>
    Effect.gen(function* () {
      const hooks = { hooks: ["preview.publish"] }
      const first = candidate("notes", { ...hooks, setup: () => Effect.succeed({ routes: [get("/api/notes")] }) })
      const host = yield* hostOf([first, candidate("notes", hooks, { kind: "path", path: "/x.ts" })])
      expect((yield* host.list).map(({ state, kind }) => [state, kind])).toEqual([
        ["running", "built-in"],
        ["refused", "path"],
      ])
      const call = yield* callRoute(yield* host.routes)
      expect((yield* call("GET", "/api/notes")).status).toBe(200)
      expect(yield* host.hooks.ask(previewPublish, preview)).toEqual(allowed)
    }),
  )

  it.effect("start after what they require, or say what is missing all the way down", () =>
    Effect.gen(function* () {
      const started: Array<string> = []
      const plugin = (name: string, ...requires: ReadonlyArray<string>) =>
        candidate(name, {
          requires,
          setup: () =>
            Effect.sync(() => {
              started.push(name)
              return {}
            }),
        })
      const host = yield* hostOf([
        plugin("a", "b"),
        plugin("b", "c"),
        plugin("c"),
        plugin("x", "y"),
        plugin("y", "z"),
        plugin("r", "s"),
        plugin("s", "r"),
      ])
      expect(started).toEqual(["c", "b", "a"])
      expect((yield* reportOf(host, "x"))?.reasons).toEqual([
        "It requires y, which is refused: It requires z, which is not there.",
      ])
      expect((yield* reportOf(host, "s"))?.reasons).toEqual(["It requires itself: r → s → r."])
      const refused = yield* Effect.flip(host.disable("b"))
      expect(refused).toMatchObject({ code: "plugin_required", message: "b is required by a: disable it first." })
    }),
  )

  it.effect("run where the settings name them; third-party ones not in safe mode", () =>
    Effect.gen(function* () {
      const all = [candidate("a"), candidate("b"), candidate("c", {}, { kind: "package", package: "svc-c" })]
      const states = (host: PluginHostShape) => Effect.map(host.list, (list) => list.map(({ state }) => state))
      expect(yield* states(yield* hostOf(all))).toEqual(["running", "running", "running"])
      expect(yield* states(yield* hostOf(all, { Enabled: ["b"] }))).toEqual(["disabled", "running", "disabled"])
      expect(yield* states(yield* hostOf(all, {}, { safeMode: true }))).toEqual(["running", "running", "disabled"])
      const misspelt = yield* hostOf(all, { Enabled: ["d"] })
      expect((yield* misspelt.diagnostics).problems).toEqual(["Plugins:Enabled names d, which is no plugin."])
    }),
  )

  it.effect("are loaded from where the settings say, or refused with the reason", () =>
    Effect.gen(function* () {
      const loaded = yield* loadNative({
        workingDirectory: import.meta.dirname,
        plugins: [
          { Name: "gone", Path: "./gone.ts" },
          { Name: "no-plugin", Path: "./plugins.fixture.ts" },
          { Name: "other-name", Path: "../../examples/native-plugin/plugin.ts" },
          { Name: "lost", Package: "svc-plugin-that-is-not-installed" },
        ],
      })
      expect(loaded.map(({ problem }) => problem)).toEqual([
        expect.stringContaining("It cannot be loaded: "),
        expect.stringContaining("It cannot be loaded: "),
        "The settings call it other-name, but its module says change-freeze: make them the same.",
        expect.stringContaining("It cannot be found: "),
      ])
      const host = yield* hostOf(loaded)
      expect((yield* host.list).map(({ state }) => state)).toEqual(["refused", "refused", "refused", "refused"])
    }),
  )

  it.effect("in plain JavaScript that are not made as a plugin is cost nobody but themselves", () =>
    Effect.gen(function* () {
      const loaded = yield* loadNative({
        workingDirectory: `${import.meta.dirname}/../fixtures/plugins`,
        plugins: ["malformed", "odd", "no-effect"].map((Name) => ({ Name, Path: `./${Name}.js` })),
      })
      const host = yield* hostOf([...loaded, candidate("sound")])
      expect((yield* host.list).map(({ name, state, reasons }) => [name, state, reasons[0] ?? ""])).toEqual([
        ["malformed", "refused", "The default export of its module is neither a plugin nor a function that gives one."],
        ["odd", "refused", expect.stringContaining("What it contributes is not of the form of a contribution: ")],
        ["no-effect", "quarantined", expect.stringContaining("It could not start: It threw: ")],
        ["sound", "running", ""],
      ])
    }),
  )

  it.effect("have tables of their own, made before they start", () =>
    Effect.gen(function* () {
      const host = yield* hostOf([
        candidate("tabled", {
          migrations: [
            { id: 1, name: "rows", sql: "-- create table other\ncreate table tabled_rows (id int primary key)" },
          ],
          setup: Effect.fnUntraced(function* () {
            const sql = yield* Sql
            yield* sql`insert into tabled_rows values (1)`.pipe(Effect.orDie)
            return {}
          }),
        }),
      ])
      expect(yield* reportOf(host, "tabled")).toMatchObject({ state: "running" })
    }),
  )
})
