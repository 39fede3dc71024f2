/** The whole service while its database is frozen, killed, or not there yet. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import type { Server } from "#core/sql.ts"
import { serverProcesses, signalAll, startServer, temporaryFolder } from "#test/support/private-server.ts"
import { startServiceOn, users } from "#test/support/service.ts"

const ask = (url: string) =>
  Effect.promise(async () => {
    const started = performance.now()
    const response = await fetch(url, { headers: { authorization: `Bearer ${users.ada}` } })
    const body = await response.json()
    return {
      status: response.status,
      body,
      retryAfter: response.headers.get("retry-after"),
      millis: performance.now() - started,
    }
  })

/** A client that comes back until it is served. */
const untilServed = (url: string) =>
  ask(url).pipe(
    Effect.filterOrFail((answer) => answer.status === 200),
    Effect.retry(Schedule.spaced("50 millis").pipe(Schedule.upTo({ duration: "20 seconds" }))),
  )

const away = { status: 503, body: { error: "database_unavailable" }, retryAfter: expect.stringMatching(/^\d+$/) }

layer(Layer.empty, { excludeTestServices: true, timeout: "60 seconds" })("a database that is away", (it) => {
  it.effect(
    "gives 503 with Retry-After within 5 s while it is frozen, and the service recovers by itself",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const replica = yield* startServiceOn(yield* startServer(folder))
        const projects = `${replica.url}/api/projects`
        expect(yield* ask(projects)).toMatchObject({ status: 200, body: [] })
        const processes = yield* serverProcesses(folder)
        yield* signalAll(processes, "SIGSTOP")
        const answers = yield* Effect.all(
          Array.from({ length: 30 }, () => ask(projects)),
          { concurrency: "unbounded" },
        )
        const ping = yield* ask(`${replica.url}/api/ping`)
        const ready = yield* ask(`${replica.url}/readyz`)
        yield* signalAll(processes, "SIGCONT")
        for (const answer of answers) {
          expect(answer).toMatchObject(away)
          expect(answer.millis).toBeLessThan(5_000)
        }
        expect(ping.status).toBe(200)
        expect(ping.millis).toBeLessThan(500)
        expect(ready.status).toBe(503)
        expect(yield* untilServed(projects)).toMatchObject({ status: 200, body: [] })
      }).pipe(Effect.scoped),
    { timeout: 60_000 },
  )

  it.effect(
    "is survived when it is killed: the next requests are served by the restarted one",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const replica = yield* startServiceOn(yield* startServer(folder))
        const projects = `${replica.url}/api/projects`
        expect((yield* ask(projects)).status).toBe(200)
        yield* signalAll(yield* serverProcesses(folder), "SIGKILL")
        const during = yield* ask(projects)
        expect([200, 503]).toContain(during.status)
        expect(during.millis).toBeLessThan(5_000)
        expect((yield* untilServed(projects)).status).toBe(200)
      }).pipe(Effect.scoped),
    { timeout: 60_000 },
  )

  it.effect(
    "may come after the service: it listens, says 503, and serves once the database is there",
    () =>
      Effect.gen(function* () {
        const nowhere: Server = { host: "/nonexistent-svc-sockets", port: 5432, user: "svc", database: "svc" }
        const replica = yield* startServiceOn(nowhere, { waits: false })
        expect((yield* ask(`${replica.url}/api/ping`)).status).toBe(200)
        expect((yield* ask(`${replica.url}/`)).status).toBe(200)
        const refused = yield* ask(`${replica.url}/api/projects`)
        expect(refused.status).toBe(503)
        expect(refused.retryAfter).toMatch(/^\d+$/)
      }).pipe(Effect.scoped),
    { timeout: 60_000 },
  )
})
