/** What a plugin can do to the service: nothing but be missing. Over HTTP, on a database, with real plugins. */
import { expect, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema, Stream } from "effect"
import { EventLog } from "#core/event-log.ts"
import { policyEvents } from "#core/hook/events.ts"
import { allowed, HookFault, type HookHandler, handler, refusedBecause } from "#core/hook.ts"
import { background, definePlugin, PluginFailed, type PluginSpec } from "#core/plugin.ts"
import { access, type Route, route } from "#core/route.ts"
import { Runs } from "#core/run/runs.ts"
import { Sql } from "#core/sql.ts"
import { toolFor } from "#core/tool.ts"
import { agentContext } from "#policies/agent-context/question.ts"
import { modelChoose } from "#policies/model-choice/question.ts"
import { previewPublish } from "#policies/preview/question.ts"
import { raiReview } from "#policies/rai/question.ts"
import type { Candidate, PluginSource } from "#runtime/plugin-host/candidate.ts"
import type { PluginHostShape } from "#runtime/plugin-host/host.ts"
import { loadNative } from "#runtime/plugin-host/native.ts"
import { callRoute } from "#test/support/call-route.ts"
import { coreServices } from "#test/support/core-services.ts"
import { hostOf } from "#test/support/plugin-host.ts"

const builtIn: PluginSource = { kind: "built-in" }

const candidate = (
  name: string,
  more: Partial<PluginSpec<undefined>> = {},
  source: PluginSource = builtIn,
): Candidate => ({
  plugin: definePlugin({ name, setup: () => Effect.succeed({}), ...more }),
  source,
})

const get = (path: string, handle: Route["handle"] = () => Effect.succeed({ ok: true })): Route =>
  route({ method: "GET", path, access: access.authenticated, summary: "", tag: "Test", answer: Schema.Unknown, handle })

const preview = {
  runId: "6f2c7a52-3a52-4a0c-9c1f-3f3f0c5b1a01",
  projectId: null,
  workPlanId: null,
  treeHash: null,
  targetPort: 3_000,
  source: "test",
  requestedBy: "ada",
  lifetimeMinutes: 60,
}
const model = {
  runId: preview.runId,
  projectId: null,
  agentName: "Writer",
  subtask: null,
  requestedModelId: null,
  agentModelId: null,
  projectModelId: null,
  defaultModelId: "m",
}
const context = { runId: preview.runId, projectId: null, agentName: "Writer", task: "", sections: [] }
const review = { runId: preview.runId, workPlanId: null, treeHash: null, files: [], diff: "", replies: [] }

const reportOf = (host: PluginHostShape, name: string) =>
  Effect.map(host.list, (reports) => reports.find((report) => report.name === name))

/** Waits until the host has seen a change after which this holds. */
const until = (host: PluginHostShape, holds: Effect.Effect<boolean>) =>
  host.changes.pipe(
    Stream.mapEffect(() => holds),
    Stream.filter((held) => held),
    Stream.runHead,
    Effect.timeout("10 seconds"),
  )

const isQuarantined = (host: PluginHostShape, name: string) =>
  Effect.map(reportOf(host, name), (report) => report?.state === "quarantined")

const guard = (answer: Parameters<typeof handler<typeof previewPublish.ask.Type, typeof allowed>>[1]) =>
  handler(previewPublish, answer)

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

layer(coreServices(), { excludeTestServices: true, timeout: "60 seconds" })("decisions of plugins", (it) => {
  const answering = (name: string, hooks: ReadonlyArray<HookHandler>) =>
    candidate(name, {
      hooks: hooks.map(({ question }) => question),
      version: "1.2.3",
      setup: () => Effect.succeed({ hooks }),
    })

  const newRun = Effect.flatMap(Runs, (runs) =>
    runs.create({ projectId: null, submittedBy: "ada", agentName: "Writer", task: "write it" }),
  )

  const policyEventsOf = (runId: string, count: number) =>
    Effect.flatMap(EventLog, (log) =>
      log.follow(runId).pipe(
        Stream.filter(({ type }) => policyEvents.some((known) => known.type === type)),
        Stream.take(count),
        Stream.runCollect,
        Effect.map((events) => [...events].map(({ type, payload }) => ({ type, payload: JSON.parse(payload) }))),
        Effect.timeout("10 seconds"),
      ),
    )

  it.effect("leave a receipt in the run's log before they are given", () =>
    Effect.gen(function* () {
      const { runId } = yield* newRun
      const choose = handler(modelChoose, () => Effect.succeed({ modelId: "cheap", rationale: "budget" }))
      const host = yield* hostOf([answering("cost", [{ ...choose, digest: "sha256:00", abi: 1 }])])
      expect(yield* host.hooks.ask(modelChoose, { ...model, runId }, { runId })).toEqual({
        modelId: "cheap",
        rationale: "budget",
      })
      const [{ type, payload } = { type: "", payload: {} }] = yield* policyEventsOf(runId, 1)
      expect(type).toBe("policy.decision")
      expect(payload).toMatchObject({
        question: "model.choose",
        kind: "decide",
        plugin: "cost",
        version: "1.2.3",
        digest: "sha256:00",
        abi: 1,
        input: { ...model, runId },
        input_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        input_complete: true,
        answer: { modelId: "cheap", rationale: "budget" },
        fuel: null,
        duration_ms: expect.any(Number),
        consulted: [],
      })
    }),
  )

  it.effect("of the service itself leave one too, with all who were asked", () =>
    Effect.gen(function* () {
      const { runId } = yield* newRun
      const host = yield* hostOf([
        answering("a", [guard(() => Effect.succeed(allowed))]),
        answering("b", [guard(() => Effect.undefined)]),
      ])
      yield* host.hooks.permit(previewPublish, preview, { runId })
      const [event] = yield* policyEventsOf(runId, 1)
      expect(event?.payload).toMatchObject({
        plugin: "built-in",
        answer: { decision: "allow" },
        consulted: [
          { plugin: "a", answer: { decision: "allow" } },
          { plugin: "b", answer: null },
        ],
      })
    }),
  )

  it.effect("say where the question could not be kept whole", () =>
    Effect.gen(function* () {
      const { runId } = yield* newRun
      const host = yield* hostOf([])
      const diff = "+password=correct-horse-battery"
      yield* host.hooks.ask(raiReview, { ...review, runId, diff, replies: ["VERDICT: GREEN"] }, { runId })
      const [event] = yield* policyEventsOf(runId, 1)
      expect(event?.payload).toMatchObject({ input_complete: false, input: { diff: "+password=[redacted]" } })
    }),
  )

  it.effect("are made in spite of faults, each of which is an event", () =>
    Effect.gen(function* () {
      const { runId } = yield* newRun
      const fails = handler(previewPublish, () =>
        Effect.fail(new HookFault({ reason: "out_of_fuel", message: "no fuel", fuel: 50 })),
      )
      const host = yield* hostOf([answering("burnt", [fails])])
      const refusal = yield* Effect.flip(host.hooks.permit(previewPublish, preview, { runId }))
      expect(refusal).toMatchObject({
        code: "refused_by_policy",
        extra: { policy: "burnt", question: "preview.publish" },
      })
      const events = yield* policyEventsOf(runId, 2)
      expect(events).toMatchObject([
        {
          type: "policy.fault",
          payload: { plugin: "burnt", reason: "out_of_fuel", fuel: 50, mode: "enforce", question: "preview.publish" },
        },
        {
          type: "policy.decision",
          payload: { plugin: "built-in", answer: { decision: "refuse", policy: "burnt" }, consulted: [] },
        },
      ])
    }),
  )

  it.effect("of shadows are recorded and change nothing", () =>
    Effect.gen(function* () {
      const { runId } = yield* newRun
      const shadow = handler(previewPublish, () => Effect.succeed(refusedBecause("no")), { mode: "shadow" })
      // a shadow closes nothing where it cannot start: it need not tell of its questions in advance
      const host = yield* hostOf([candidate("strict", { setup: () => Effect.succeed({ hooks: [shadow] }) })])
      expect(yield* host.hooks.ask(previewPublish, preview, { runId })).toEqual(allowed)
      const [, event] = yield* policyEventsOf(runId, 2)
      expect(event).toMatchObject({
        type: "policy.shadow",
        payload: { policy: "strict", decision: { decision: "refuse" }, agrees: false },
      })
    }),
  )

  it.effect("are not part of the asker's transaction", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      const inside: Array<boolean> = []
      const looks = handler(modelChoose, () =>
        Effect.map(sql.inTransaction, (is) => {
          inside.push(is)
          return undefined
        }),
      )
      const host = yield* hostOf([answering("looks", [looks])])
      yield* sql.transaction(host.hooks.ask(modelChoose, model))
      expect(inside).toEqual([false])
    }),
  )

  it.effect("cannot change what the next plugin is asked", () =>
    Effect.gen(function* () {
      const rude = handler(agentContext, (ask) =>
        Effect.sync(() => {
          Object.assign(ask, { agentName: "Mallory" })
          return undefined
        }),
      )
      const seen: Array<string> = []
      const polite = handler(agentContext, ({ agentName }) =>
        Effect.sync(() => {
          seen.push(agentName)
          return undefined
        }),
      )
      const host = yield* hostOf([answering("a", [rude]), answering("b", [polite])])
      yield* host.hooks.ask(agentContext, context)
      expect(seen).toEqual(["Writer"])
    }),
  )

  it.effect("are of one version each, and none is lost, while the policy is exchanged under load", () =>
    Effect.gen(function* () {
      let version = 0
      const policy = candidate("policy", {
        setup: () =>
          Effect.sync(() => {
            const text = `${++version}`
            const adds = handler(agentContext, ({ sections }) =>
              Effect.as(Effect.yieldNow, { sections: [...sections, { id: "v", title: "", text }] }),
            )
            return { hooks: [adds, adds, adds] }
          }),
      })
      const host = yield* hostOf([policy])
      const answers: Array<ReadonlyArray<string>> = []
      const client = Effect.gen(function* () {
        while (true) {
          const { sections } = yield* host.hooks.ask(agentContext, context)
          answers.push(sections.map(({ text }) => text))
          yield* Effect.yieldNow
        }
      })
      const clients = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 20 }, () => client),
          { concurrency: 20 },
        ),
      )
      for (let n = 0; n < 10; n++) {
        yield* host.reload("policy")
        while (answers.at(-1)?.[0] !== `${version}`) yield* Effect.yieldNow
      }
      yield* Fiber.interrupt(clients)
      for (const answer of answers) expect(answer).toEqual([answer[0], answer[0], answer[0]])
      expect(new Set(answers.map(([first]) => first)).size).toBeGreaterThanOrEqual(10)
    }),
  )
})

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
