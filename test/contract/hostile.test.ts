/** Every route of the whole service, asked with bad input by somebody who may use it: a clear 4xx, never a 5xx, never a hang. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Route } from "#core/route.ts"
import { makeLifecycle } from "#gateway/lifecycle.ts"
import { allRoutes } from "#runtime/routes.ts"
import { TestDatabase } from "#test/support/database.ts"
import { startService, users } from "#test/support/service.ts"

const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`

/** Bodies that no route takes, and what each is. */
const bodies: ReadonlyArray<readonly [what: string, body: string, type?: string]> = [
  ["malformed JSON", '{"name":'],
  ["nothing", ""],
  ["a number", "42"],
  ["null", "null"],
  ["an array", "[]"],
  ["deep nesting", deep],
  ["a duplicate member", '{"name":"a","name":"b"}'],
  ["a prototype", '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'],
  [
    "NUL",
    '{"name":"a\\u0000b","comment":"\\u0000","command_hash":"\\u0000","request_id":"\\u0000","answer":"\\u0000"}',
  ],
  ["a lone surrogate", '{"name":"\\ud800","comment":"\\ud800","command_hash":"\\ud800","request_id":"\\ud800"}'],
  [
    "wrong types",
    '{"name":1,"origin":{},"working_directory":[],"approved":"yes","enabled":"true","command_hash":7,"request_id":{},"answer":[],"comment":5,"principal_id":1,"role":2}',
  ],
  ["long strings", JSON.stringify({ name: "x".repeat(500_000), comment: "x".repeat(500_000) })],
  [
    "numbers out of range",
    '{"approval_timeout_minutes":1e999,"lifetime_minutes":-1,"dns_convergence_timeout_seconds":0.5}',
  ],
  ["a form", "name=a&origin=blank", "application/x-www-form-urlencoded"],
  ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString("latin1")],
]

const queries = [
  "page=0",
  "page=1&page=2",
  "page=",
  "limit=-1",
  "limit=999999",
  "from=x",
  "confirm=maybe",
  "%00=%00",
  "a=%ff",
  "x".repeat(6_000),
]

const oddIds = [
  "0",
  "..",
  "%2e%2e",
  "%00",
  "a%2Fb",
  "' or 1=1 --",
  "9".repeat(300),
  "00000000-0000-0000-0000-00000000000G",
]

interface Answered {
  readonly what: string
  readonly status: number
  readonly text: string
  readonly millis: number
}

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("bad input", (it) => {
  it.effect(
    "gets a clear 4xx from every route, with the paths that are wrong, and quickly",
    () =>
      Effect.gen(function* () {
        const replica = yield* startService()
        const { runId } = yield* replica.runs.create({
          projectId: null,
          submittedBy: "ada",
          agentName: "Writer",
          task: "be asked badly",
        })
        // what ends the run or has no input at all is asked about another one
        const routes = (yield* Effect.scoped(
          Effect.provideContext(allRoutes(makeLifecycle("serving")), replica.services),
        )).filter(
          ({ path, method }) => path !== "/api/runs/{id}/stream" && !(method === "DELETE" && path === "/api/runs/{id}"),
        )
        const ask = (route: Route, id: string, query: string, body?: string, type = "application/json") =>
          Effect.promise(async (): Promise<Answered> => {
            const path = route.path.replaceAll(/\{[^}]+\}/g, id)
            const what = `${route.method} ${path}?${query.slice(0, 30)}`
            const started = performance.now()
            const response = await fetch(`${replica.url}${path}?${query}`, {
              method: route.method,
              headers: {
                authorization: `Bearer ${users.ada}`,
                ...(body === undefined ? {} : { "content-type": type }),
              },
              ...(body === undefined || route.method === "GET" ? {} : { body: Buffer.from(body, "latin1") }),
            })
            return { what, status: response.status, text: await response.text(), millis: performance.now() - started }
          })

        const all: Array<Answered> = []
        for (const route of routes) {
          for (const query of queries) all.push(yield* ask(route, runId, query))
          for (const id of oddIds) all.push(yield* ask(route, id, "", route.body === undefined ? undefined : "{}"))
          if (route.body === undefined) continue
          for (const [what, body, type] of bodies) {
            const answered = yield* ask(route, runId, "", body, type)
            all.push({ ...answered, what: `${answered.what} with ${what}` })
          }
        }
        expect(all.length).toBeGreaterThan(500)
        expect(all.filter(({ status }) => status >= 500 && status !== 501)).toEqual([])
        expect(all.filter(({ millis }) => millis > 4_000)).toEqual([])
        for (const { what, status, text } of all) {
          if (status < 400) continue
          const body = JSON.parse(text)
          expect(body, what).toMatchObject({ error: expect.any(String), message: expect.any(String) })
          if (body.error === "invalid_request" && body.issues !== undefined) {
            for (const issue of body.issues) expect(issue.path, what).toMatch(/^(body|query|params|path|headers)/)
          }
        }
        expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain("polluted")
      }),
    { timeout: 60_000 },
  )
})
