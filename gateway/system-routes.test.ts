import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { DatabaseUnavailable } from "#core/sql.ts"
import { makeCheck } from "#gateway/health.ts"
import { makeLifecycle } from "#gateway/lifecycle.ts"
import { type SystemOptions, systemRoutes } from "#gateway/system-routes.ts"
import { ask, short, testGateway } from "#test/support/gateway.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true })),
)

const service = Effect.fnUntraced(function* (options: Partial<SystemOptions> = {}) {
  const lifecycle = options.lifecycle ?? makeLifecycle("serving")
  const dataDirectory = yield* folder
  const routes = yield* systemRoutes({
    version: "1.2.3",
    lifecycle,
    dataDirectory,
    database: Effect.void,
    metricsText: Effect.succeed("svc_up 1\n"),
    publicMetrics: false,
    runtime: { kubernetes: false, podName: null },
    aiConfigured: false,
    ...options,
  })
  return { app: yield* testGateway(routes, { lifecycle }), lifecycle, dataDirectory }
})

const gone = new DatabaseUnavailable({ reason: "connection_lost", message: "" })

describe("the routes about the service", () => {
  it.effect.each([
    ["/", { name: "svc", version: "1.2.3", status: "ok" }],
    ["/health", { status: "ok" }],
    ["/api/health", { status: "ok" }],
    ["/api/ping", { status: "ok" }],
    ["/healthz", { status: "healthy" }],
    ["/health/live", { status: "ok" }],
    ["/health/ready", { status: "ready" }],
    ["/readyz", { status: "ready" }],
    ["/healthz/workspace", { status: "ok" }],
    ["/api/version", { version: "1.2.3" }],
    ["/api/server/info", { auth_mode: "api_key" }],
    ["/api/auth/config", { auth_mode: "api_key" }],
    ["/api/auth/session", { authenticated: false, login: null, platform_roles: [] }],
  ] as const)("answer without a credential: %s", ([path, expected]) =>
    Effect.gen(function* () {
      const { app } = yield* service()
      const answer = yield* ask(app, `GET ${path}`)
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject(expected)
    }),
  )

  it.effect("tell where the process runs and what it counts only to callers", () =>
    Effect.gen(function* () {
      const { app } = yield* service({ runtime: { kubernetes: true, podName: "svc-0" } })
      expect((yield* ask(app, "GET /api/system/runtime")).status).toBe(401)
      expect((yield* ask(app, "GET /api/system/runtime", { as: "viewer" })).body).toEqual({
        kubernetes: true,
        podName: "svc-0",
      })
      expect((yield* ask(app, "GET /metrics")).status).toBe(401)
      expect((yield* ask(app, "GET /metrics", { as: "viewer" })).text).toBe("svc_up 1\n")
      const open = yield* service({ publicMetrics: true })
      expect((yield* ask(open.app, "GET /metrics")).status).toBe(200)
    }),
  )

  it.effect("tell callers who they are", () =>
    Effect.gen(function* () {
      const { app } = yield* service()
      expect((yield* ask(app, "GET /api/auth/session", { as: "admin" })).body).toMatchObject({
        authenticated: true,
        login: "admin",
        platform_roles: ["administrator"],
      })
      expect(short(yield* ask(app, "GET /api/auth/session", { as: "internal" }))).toBe("403 forbidden")
    }),
  )
})

describe("readiness", () => {
  it.effect("is apart from liveness", () =>
    Effect.gen(function* () {
      const lifecycle = makeLifecycle()
      const { app } = yield* service({ lifecycle })
      expect((yield* ask(app, "GET /readyz")).body).toEqual({ status: "unavailable", error: "starting" })
      expect((yield* ask(app, "GET /api/health")).status).toBe(503)
      expect((yield* ask(app, "GET /health")).status).toBe(200)
      lifecycle.serve()
      expect((yield* ask(app, "GET /readyz")).status).toBe(200)
      lifecycle.drain()
      const draining = yield* ask(app, "GET /health/ready")
      expect([draining.status, draining.body]).toEqual([503, { status: "unavailable", error: "draining" }])
      expect((yield* ask(app, "GET /health/live")).status).toBe(200)
    }),
  )

  it.effect("needs the database", () =>
    Effect.gen(function* () {
      const { app } = yield* service({ database: gone })
      expect((yield* ask(app, "GET /readyz")).body).toEqual({ status: "unavailable", error: "database_unavailable" })
      expect((yield* ask(app, "GET /health")).status).toBe(200)
    }),
  )

  it.effect("needs the data folder for the workspace only", () =>
    Effect.gen(function* () {
      const { app, dataDirectory } = yield* service()
      rmSync(dataDirectory, { recursive: true })
      const answer = yield* ask(app, "GET /healthz/workspace")
      expect([answer.status, answer.body]).toEqual([
        503,
        { status: "unavailable", error: "workspace_mount_unavailable" },
      ])
      expect((yield* ask(app, "GET /readyz")).status).toBe(200)
    }),
  )
})

describe("a check", () => {
  it.effect("runs once for all who ask at the same time, and again when its answer is old", () =>
    Effect.gen(function* () {
      let runs = 0
      const { passes } = yield* makeCheck(Effect.sync(() => runs++))
      expect(
        yield* Effect.all(
          Array.from({ length: 50 }, () => passes),
          { concurrency: "unbounded" },
        ),
      ).not.toContain(false)
      expect(runs).toBe(1)
      yield* TestClock.adjust(Duration.seconds(1))
      expect(yield* passes).toBe(true)
      expect(runs).toBe(2)
    }),
  )

  it.effect("that hangs is answered with no after a second, is not started again, and heals", () =>
    Effect.gen(function* () {
      let runs = 0
      const open = yield* Deferred.make<void>()
      const { passes } = yield* makeCheck(
        Effect.andThen(
          Effect.sync(() => runs++),
          Deferred.await(open),
        ),
      )
      for (let asked = 0; asked < 3; asked++) {
        const asking = yield* Effect.forkChild(passes)
        yield* TestClock.adjust(Duration.seconds(1))
        expect(yield* Fiber.join(asking)).toBe(false)
      }
      expect(runs).toBe(1)
      yield* Deferred.succeed(open, undefined)
      expect(yield* passes).toBe(true)
      expect(runs).toBe(2)
    }),
  )

  it.effect("goes on when whoever asked has left", () =>
    Effect.gen(function* () {
      const open = yield* Deferred.make<void>()
      const { passes } = yield* makeCheck(Deferred.await(open))
      const asking = yield* Effect.forkChild(passes, { startImmediately: true })
      yield* Fiber.interrupt(asking)
      yield* Deferred.succeed(open, undefined)
      expect(yield* passes).toBe(true)
    }),
  )
})
