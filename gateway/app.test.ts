import { it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Logger, References, Schema } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { Metrics, silentMetrics } from "#core/ports/metrics.ts"
import { refuse, refuseInput } from "#core/refusal.ts"
import { access, type Route, reply } from "#core/route.ts"
import { DatabaseUnavailable } from "#core/sql.ts"
import { makeLifecycle } from "#gateway/lifecycle.ts"
import { makeLoad } from "#gateway/load.ts"
import { ask, keys, run, short, testGateway } from "#test/support/gateway.ts"

const get = (path: string, handle: Route["handle"], extra: Partial<Route> = {}): Route => ({
  method: "GET",
  path,
  access: access.authenticated,
  summary: path,
  tag: "Test",
  answer: Schema.Unknown,
  handle,
  ...extra,
})

const gone = new DatabaseUnavailable({ reason: "connection_lost", message: "10.0.0.1:5432 refused" })

const routes: ReadonlyArray<Route> = [
  get("/api/hello", () => Effect.succeed({ hello: "world" })),
  get("/api/made", () => Effect.succeed(reply.json(201, { id: 1 }, { location: "/api/made/1" }))),
  get("/api/empty", () => Effect.succeed(reply.empty())),
  get("/api/nothing", () => Effect.void),
  get("/api/text", () => Effect.succeed(reply.text("<p>", "text/html; charset=utf-8"))),
  get("/api/bytes", () => Effect.succeed(reply.text(Buffer.from("abc"), "application/octet-stream"))),
  get("/api/refused", () => refuse("conflict", { message: "Not now.", extra: { status: "merging" }, retryAfter: 1.2 })),
  get("/api/input", () => refuseInput([{ path: "body.name", message: "Expected a name" }])),
  get("/api/database", () => gone),
  get("/api/defect", () => Effect.die(new Error("select * from secrets where password='hunter2'"))),
  get("/api/thrown", () => {
    throw new Error("hunter2")
  }),
  get("/api/both", () => refuse("conflict").pipe(Effect.ensuring(Effect.die("hunter2")))),
  get("/api/undeclared", () => Effect.succeed({ name: 1 }), { answer: Schema.Struct({ name: Schema.String }) }),
  get("/api/live", () => Effect.succeed(reply.socket(() => {}))),
  get("/health", () => Effect.succeed({ status: "ok" }), { access: access.public, vital: true }),
]

const as = "owner" as const

/** A client that can go away. */
const client = () => new AbortController()

describe("what is sent", () => {
  it.effect("is what the handler returned, as JSON", () =>
    Effect.gen(function* () {
      const answer = yield* ask(yield* testGateway(routes), "GET /api/hello", { as })
      expect([answer.status, answer.text]).toEqual([200, '{"hello":"world"}'])
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        "content-type": "application/json; charset=utf-8",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "content-security-policy": expect.stringContaining("frame-ancestors 'none'"),
      })
    }),
  )

  it.effect("has the status, headers and type that a reply names", () =>
    Effect.gen(function* () {
      const app = yield* testGateway(routes)
      const made = yield* ask(app, "GET /api/made", { as })
      expect([made.status, made.body, made.headers.get("location")]).toEqual([201, { id: 1 }, "/api/made/1"])
      for (const path of ["/api/empty", "/api/nothing"]) {
        const empty = yield* ask(app, `GET ${path}`, { as })
        expect([empty.status, empty.text]).toEqual([204, ""])
      }
      const text = yield* ask(app, "GET /api/text", { as })
      expect([text.text, text.headers.get("content-type")]).toEqual(["<p>", "text/html; charset=utf-8"])
      expect((yield* ask(app, "GET /api/bytes", { as })).text).toBe("abc")
    }),
  )

  it.effect("keeps a plain request id and makes one up for any other", () =>
    Effect.gen(function* () {
      const app = yield* testGateway(routes)
      const idFor = (id: string) =>
        Effect.map(ask(app, "GET /health", { headers: { "x-request-id": id } }), ({ headers }) =>
          headers.get("x-request-id"),
        )
      expect(yield* idFor("trace-1.a_B")).toBe("trace-1.a_B")
      for (const bad of ["", "a b", "<script>", "x".repeat(129)]) expect(yield* idFor(bad)).toMatch(/^[0-9a-f-]{36}$/)
    }),
  )
})

describe("a failure", () => {
  it.effect("that is named is told with all it carries", () =>
    Effect.gen(function* () {
      const app = yield* testGateway(routes)
      const refused = yield* ask(app, "GET /api/refused", { as })
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([409, "2"])
      expect(refused.body).toEqual({ error: "conflict", message: "Not now.", status: "merging" })
      expect((yield* ask(app, "GET /api/input", { as })).body).toEqual({
        error: "invalid_request",
        message: "body.name: Expected a name",
        issues: [{ path: "body.name", message: "Expected a name" }],
      })
    }),
  )

  it.effect("of the database is 503, soon to be tried again, and says nothing about it", () =>
    Effect.gen(function* () {
      const answer = yield* ask(yield* testGateway(routes), "GET /api/database", { as })
      expect([short(answer), answer.headers.get("retry-after")]).toEqual(["503 database_unavailable", "2"])
      expect(answer.text).not.toContain("10.0.0.1")
    }),
  )

  it.effect.each(["/api/defect", "/api/thrown", "/api/both"])(
    "that nobody foresaw is a 500 that leaks nothing, and is logged with its cause: %s",
    (path) =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const logger = Logger.make(({ message, cause }) => {
          lines.push(`${message} ${cause}`)
        })
        const answer = yield* Effect.flatMap(testGateway(routes), (app) => ask(app, `GET ${path}`, { as })).pipe(
          Effect.provide(Logger.layer([logger])),
        )
        expect([answer.status, answer.body]).toEqual([
          500,
          { error: "internal_error", message: "An unexpected error occurred." },
        ])
        expect(lines.join("\n")).toContain("not foreseen")
      }),
  )

  it.effect("of the schema of an answer is found in tests", () =>
    Effect.gen(function* () {
      const answer = yield* ask(yield* testGateway(routes), "GET /api/undeclared", { as })
      expect([short(answer), answer.text]).toEqual([
        "500 internal_error",
        expect.stringContaining("GET /api/undeclared"),
      ])
      const lenient = yield* testGateway(routes, { validateAnswers: false })
      expect((yield* ask(lenient, "GET /api/undeclared", { as })).status).toBe(200)
    }),
  )
})

describe("the guard", () => {
  it.effect("gives up a request that takes too long", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const slow = get("/api/slow", () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
      const app = yield* testGateway([slow], { requestTimeout: Duration.seconds(5) })
      const asking = yield* Effect.forkChild(ask(app, "GET /api/slow", { as }))
      yield* Deferred.await(started)
      yield* TestClock.adjust(Duration.seconds(5))
      const answer = yield* Fiber.join(asking)
      expect([short(answer), answer.headers.get("retry-after")]).toEqual(["503 timed_out", "1"])
    }),
  )

  it.effect("turns requests away at its limit, never probes, and lets them in again afterwards", () =>
    Effect.gen(function* () {
      const entered = yield* Deferred.make<void>()
      const leave = yield* Deferred.make<void>()
      const waiting = get("/api/waiting", () =>
        Deferred.succeed(entered, undefined).pipe(Effect.andThen(Deferred.await(leave)), Effect.as({})),
      )
      const load = makeLoad(1)
      const app = yield* testGateway([...routes, waiting], { load })
      const first = yield* Effect.forkChild(ask(app, "GET /api/waiting", { as }))
      yield* Deferred.await(entered)
      const second = yield* ask(app, "GET /api/hello")
      expect([short(second), second.headers.get("retry-after")]).toEqual(["503 overloaded", "1"])
      expect(short(yield* ask(app, "GET /health"))).toBe("200")
      yield* Deferred.succeed(leave, undefined)
      expect(short(yield* Fiber.join(first))).toBe("200")
      expect(load.inFlight()).toBe(0)
      expect(short(yield* ask(app, "GET /api/hello", { as }))).toBe("200")
    }),
  )

  it.effect("answers probes only while the service starts and stops", () =>
    Effect.gen(function* () {
      const lifecycle = makeLifecycle()
      const app = yield* testGateway(routes, { lifecycle })
      expect(short(yield* ask(app, "GET /api/hello", { as }))).toBe("503 starting")
      expect(short(yield* ask(app, "GET /health"))).toBe("200")
      lifecycle.serve()
      expect(short(yield* ask(app, "GET /api/hello", { as }))).toBe("200")
      lifecycle.drain()
      lifecycle.serve()
      const draining = yield* ask(app, "GET /api/hello", { as })
      expect([short(draining), draining.headers.get("connection")]).toEqual(["503 draining", "close"])
      expect(short(yield* ask(app, "GET /health"))).toBe("200")
    }),
  )

  it.effect("interrupts the handler of a client that goes away", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      const app = yield* testGateway([
        get("/api/wait", () =>
          Deferred.succeed(started, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Deferred.succeed(stopped, undefined)),
          ),
        ),
      ])
      const abort = client()
      const request = new Request("http://localhost/api/wait", {
        headers: { authorization: `Bearer ${keys.owner}` },
        signal: abort.signal,
      })
      const response = Promise.resolve(app.fetch(request))
      yield* Deferred.await(started)
      abort.abort()
      yield* Deferred.await(stopped)
      expect((yield* Effect.promise(() => response)).status).toBe(499)
    }),
  )
})

describe("cross-origin requests", () => {
  const origin = "https://app.example.com"

  it.effect("are answered with credentials for configured origins, and for no other", () =>
    Effect.gen(function* () {
      const app = yield* testGateway(routes, { corsOrigins: [origin] })
      const allowed = yield* ask(app, "GET /api/hello", { as, headers: { origin } })
      expect(Object.fromEntries(allowed.headers)).toMatchObject({
        "access-control-allow-origin": origin,
        "access-control-allow-credentials": "true",
        vary: "Origin",
      })
      for (const other of ["https://evil.example.com", `${origin}.evil.com`, "http://app.example.com", "null", "*"]) {
        const answer = yield* ask(app, "GET /api/hello", { as, headers: { origin: other } })
        expect([answer.headers.get("access-control-allow-origin"), answer.headers.get("vary")]).toEqual([
          null,
          "Origin",
        ])
      }
      const refused = yield* ask(app, "GET /api/hello", { headers: { origin } })
      expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, origin])
    }),
  )

  it.effect("have their preflight answered before anybody is asked who they are", () =>
    Effect.gen(function* () {
      const app = yield* testGateway(routes, { corsOrigins: [origin] })
      const preflight = (from: string) =>
        ask(app, "OPTIONS /api/anything", { headers: { origin: from, "access-control-request-method": "PUT" } })
      const allowed = yield* preflight(origin)
      expect(allowed.status).toBe(204)
      expect(allowed.headers.get("access-control-allow-methods")).toContain("PUT")
      expect(allowed.headers.get("access-control-allow-headers")).toContain("authorization")
      const refused = yield* preflight("https://evil.example.com")
      expect([refused.status, refused.headers.get("access-control-allow-methods")]).toEqual([204, null])
      expect(short(yield* ask(app, "OPTIONS /api/anything", { headers: { origin } }))).toBe("401 unauthorized")
    }),
  )

  it.effect("are nobody's by default", () =>
    Effect.gen(function* () {
      const answer = yield* ask(yield* testGateway(routes), "GET /api/hello", { as, headers: { origin } })
      expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([])
    }),
  )
})

describe("the start", () => {
  const start = (broken: ReadonlyArray<Route>) =>
    testGateway(broken).pipe(
      Effect.exit,
      Effect.map((exit) => (Exit.isFailure(exit) ? String(exit.cause) : "started")),
    )

  it.effect("is refused for two routes with one method and path, whatever they call their parameters", () =>
    Effect.gen(function* () {
      const problem = yield* start([
        get("/api/runs/{id}", () => Effect.succeed(1), { summary: "the first" }),
        get("/api/runs/{runId}", () => Effect.succeed(1), { summary: "the second" }),
      ])
      expect(problem).toContain("GET /api/runs/{runId} is declared twice")
      expect(problem).toContain('"the first", "the second"')
    }),
  )

  it.effect("is refused for a route without access, or with access by a parameter that it does not have", () =>
    Effect.gen(function* () {
      const { access: _, ...withoutAccess } = get("/api/open", () => Effect.succeed(1))
      const problem = yield* start([
        // what a plugin written without types could hand over
        withoutAccess as Route,
        get("/api/runs/{runId}", () => Effect.succeed(1), { access: access.run("viewer") }),
        get("/api/{id}x", () => Effect.succeed(1)),
      ])
      expect(problem).toContain("GET /api/open: it does not say who may call it")
      expect(problem).toContain("access depends on {id}")
      expect(problem).toContain("GET /api/{id}x: the path is not one")
    }),
  )

  it.effect("asks the more specific path first, in whatever order routes come", () =>
    Effect.gen(function* () {
      const named = (path: string) => get(path, () => Effect.succeed({ path }))
      const paths = ["/api/a/{**rest}", "/api/a/{x}", "/api/a/b", "/api/a/{x}/c", "/api/a/b/{y}"]
      for (const order of [paths, [...paths].reverse()]) {
        const app = yield* testGateway(order.map(named))
        for (const [asked, answered] of [
          ["/api/a/b", "/api/a/b"],
          ["/api/a/z", "/api/a/{x}"],
          ["/api/a/b/c", "/api/a/b/{y}"],
          ["/api/a/z/c", "/api/a/{x}/c"],
          ["/api/a/z/d", "/api/a/{**rest}"],
        ]) {
          expect((yield* ask(app, `GET ${asked}`, { as })).body).toEqual({ path: answered })
        }
      }
    }),
  )
})

describe("what is told to operators", () => {
  it.effect("is one line for each mutation that was denied, without secrets", () =>
    Effect.gen(function* () {
      const lines: Array<{ message: unknown; annotations: Readonly<Record<string, unknown>> }> = []
      const logger = Logger.make(({ message, fiber }) => {
        lines.push({ message, annotations: fiber.getRef(References.CurrentLogAnnotations) })
      })
      const review: Route = { ...get("/api/runs/{id}/review", () => Effect.succeed({})), method: "POST" }
      yield* Effect.gen(function* () {
        const app = yield* testGateway([{ ...review, access: access.run("contributor") }])
        yield* ask(app, `POST /api/runs/${run}/review`, { as: "viewer", headers: { "x-request-id": "r1" } })
        yield* ask(app, `POST /api/runs/${run}/review`, { headers: { authorization: "Bearer wrong-key" } })
        yield* ask(app, `POST /api/runs/${run}/review`, { as: "owner" })
      }).pipe(Effect.provide(Logger.layer([logger])))
      const common = { audit: "denied", method: "POST", route: "/api/runs/{id}/review", run_id: run }
      expect(lines.map(({ annotations }) => annotations)).toMatchObject([
        { ...common, subject: "viewer", code: "forbidden", request_id: "r1" },
        { ...common, subject: "anonymous", code: "unauthorized" },
      ])
      expect(JSON.stringify(lines)).not.toMatch(/wrong-key|key-of/)
    }),
  )

  it.effect("is a count of requests by method, route and status", () =>
    Effect.gen(function* () {
      const counted: Array<unknown> = []
      const metrics = { ...silentMetrics, count: (_: string, labels: unknown) => void counted.push(labels) }
      const app = yield* testGateway(routes).pipe(Effect.provideService(Metrics, metrics))
      yield* ask(app, "GET /api/hello", { as })
      yield* ask(app, `GET /api/runs/${run}`)
      expect(counted).toEqual([
        { method: "GET", route: "/api/hello", status: "200" },
        { method: "GET", route: "none", status: "401" },
      ])
    }),
  )
})
