/** What holds for every route, whatever it does: asked of toy routes, so that nothing else takes part. */
import { it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { describe, expect } from "vitest"
import { query } from "#core/query.ts"
import { Issue } from "#core/refusal.ts"
import { access, type Route, reply } from "#core/route.ts"
import { badInput } from "#test/contract/bad-input.ts"
import { toldToStrangers } from "#test/contract/strangers.ts"
import { ask, project, run, short, type TestCaller, testGateway, unknown } from "#test/support/gateway.ts"

const tag = "Toys"
const Toy = Schema.Struct({ name: Schema.String, sizes: Schema.optionalKey(Schema.Array(Schema.Int)) })
const ToyQuery = Schema.Struct({
  size: Schema.optionalKey(query.int({ minimum: 1, maximum: 10 })),
  new: Schema.optionalKey(query.boolean),
  name: Schema.optionalKey(query.text(20)),
})
const ToyId = Schema.Struct({ toy: query.int() })
const Refused = Schema.Struct({ issues: Schema.Array(Issue) })
const Anything = Schema.Record(Schema.String, Schema.Unknown)

const toy = (method: Route["method"], path: string, extra: Partial<Route> = {}): Route => ({
  method,
  path,
  access: access.authenticated,
  summary: `${method} ${path}`,
  tag,
  answer: Anything,
  handle: ({ params, query, body }) => Effect.succeed({ params, query, ...(body === undefined ? {} : { body }) }),
  ...extra,
})

const toys: ReadonlyArray<Route> = [
  toy("GET", "/health", { access: access.public, vital: true }),
  toy("GET", "/api/news", { access: access.public }),
  toy("GET", "/api/toys", { query: ToyQuery }),
  toy("POST", "/api/toys", { body: Toy, bodyLimit: 1_000 }),
  toy("GET", "/api/toys/{toy}", { params: ToyId }),
  toy("PUT", "/api/toys/{toy}", { params: ToyId, query: ToyQuery, body: Toy }),
  toy("GET", "/api/toys/{toy}/files/{**path}"),
  toy("POST", "/api/optional", {
    body: Schema.Struct({ name: Schema.optionalKey(Schema.String) }),
    bodyOptional: true,
  }),
  toy("GET", "/api/people", { access: access.human }),
  toy("GET", "/api/everything", { access: access.platformAdmin }),
  toy("GET", "/api/runs/{id}", { access: access.run("viewer") }),
  toy("DELETE", "/api/runs/{id}", { access: access.run("contributor") }),
  toy("POST", "/api/runs/{id}/review", { access: access.run("contributor"), body: Toy }),
  toy("GET", "/api/runs/{id}/stream", { access: access.run("viewer", { subStreams: true }) }),
  toy("GET", "/api/runs/{id}/files", { access: access.run("viewer", { hidesExistence: true }) }),
  toy("POST", "/api/runs/{runId}/preview", { access: access.run("contributor", { param: "runId", internal: true }) }),
  toy("GET", "/api/projects/{id}", { access: access.project("viewer") }),
  toy("PATCH", "/api/projects/{id}", { access: access.project("owner"), body: Toy }),
]

describe("bad input", () => {
  it.effect.each(badInput)("is refused with what is wrong: $what", (input) =>
    Effect.gen(function* () {
      const app = yield* testGateway(toys)
      const answer = yield* ask(app, input.ask, {
        as: "owner",
        ...(input.headers === undefined ? {} : { headers: input.headers }),
        ...(input.body === undefined ? {} : { body: input.body }),
      })
      expect(short(answer)).toBe(input.expected)
      expect(answer.body).toMatchObject({ error: expect.any(String), message: expect.stringMatching(/.{5,}/) })
      if (input.issues !== undefined) {
        const { issues } = yield* Schema.decodeUnknownEffect(Refused)(answer.body)
        expect(issues.map(({ path }) => path)).toEqual(input.issues)
      }
    }),
  )

  it.effect.each(badInput.filter((input) => input.ask.split(" ")[1]?.startsWith("/api/")))(
    "tells a stranger no more than 401: $what",
    (input) =>
      Effect.gen(function* () {
        const app = yield* testGateway(toys)
        const answer = yield* ask(app, input.ask, {
          ...(input.headers === undefined ? {} : { headers: input.headers }),
          ...(input.body === undefined ? {} : { body: input.body }),
        })
        expect(short(answer)).toBe("401 unauthorized")
        expect(answer.headers.get("www-authenticate")).toBe("Bearer")
      }),
  )
})

describe("good input", () => {
  it.effect.each([
    ["GET /api/toys?size=10&new=true&name=b%C3%A4r+1", { query: { size: 10, new: true, name: "bär 1" } }],
    ["GET /api/toys", { query: {} }],
    ["GET /api/toys/7?whatever=1&whatever=2", { params: { toy: 7 }, query: {} }],
    ["GET /api/toys/7/files/src/a%20b%25/%C3%A4.ts", { params: { toy: "7", path: "src/a b%/ä.ts" } }],
    ["GET /api/toys/7/files/...", { params: { path: "..." } }],
    [`GET /api/runs/${run}`, { params: { id: run } }],
    [`GET /api/runs/${run.toUpperCase()}`, { params: { id: run } }],
    [`GET /api/runs/${run}/stream`, { params: { id: run } }],
    [`GET /api/runs/${run}-rai/stream`, { params: { id: `${run}-rai` } }],
  ] as const)("reaches the handler decoded: %s", ([what, expected]) =>
    Effect.gen(function* () {
      const app = yield* testGateway(toys)
      const answer = yield* ask(app, what, { as: "viewer" })
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject(expected)
    }),
  )

  it.effect("may have members that the route does not know", () =>
    Effect.gen(function* () {
      const app = yield* testGateway(toys)
      const answer = yield* ask(app, "POST /api/toys", { as: "viewer", json: { name: "bear", colour: "red" } })
      expect(answer.body).toMatchObject({ body: { name: "bear" } })
    }),
  )

  it.effect("may leave out a body that is optional", () =>
    Effect.gen(function* () {
      const app = yield* testGateway(toys)
      expect((yield* ask(app, "POST /api/optional", { as: "viewer" })).body).toMatchObject({ body: {} })
      expect(short(yield* ask(app, "POST /api/optional", { as: "viewer", json: { name: 1 } }))).toBe(
        "400 invalid_request",
      )
    }),
  )
})

/** Who, what, and the first thing that is wrong with it: in the order in which it is looked at. */
const order: ReadonlyArray<readonly [TestCaller | undefined, string, string]> = [
  // who: before everything, also before what is not there
  [undefined, `GET /api/runs/${unknown}`, "401 unauthorized"],
  [undefined, "GET /api/runs/x", "401 unauthorized"],
  [undefined, "GET /api/nothing", "401 unauthorized"],
  [undefined, "GET /api", "401 unauthorized"],
  [undefined, "PUT /api/runs/x", "401 unauthorized"],
  [undefined, `POST /api/runs/${run}/review`, "401 unauthorized"],
  [undefined, "GET /nothing", "404 not_found"],
  [undefined, "GET /health", "200"],
  [undefined, "GET /api/news", "200"],
  [undefined, "POST /api/news", "405 method_not_allowed"],
  // the form of ids
  ["stranger", "GET /api/runs/x", "400 invalid_run_id"],
  ["stranger", "GET /api/projects/x", "400 invalid_project_id"],
  ["stranger", `GET /api/runs/${run}-rai`, "400 invalid_run_id"],
  ["stranger", `GET /api/runs/${run}-other/stream`, "400 invalid_run_id"],
  // what is there, and the role
  ["stranger", `GET /api/runs/${unknown}`, "404 run_not_found"],
  ["stranger", `GET /api/runs/${unknown}-rai/stream`, "404 run_not_found"],
  ["stranger", `GET /api/projects/${unknown}`, "404 project_not_found"],
  ["stranger", `GET /api/runs/${run}`, "403 forbidden"],
  ["stranger", `GET /api/runs/${run}-rai/stream`, "403 forbidden"],
  ["stranger", `GET /api/projects/${project}`, "403 forbidden"],
  ["viewer", `DELETE /api/runs/${run}`, "403 forbidden"],
  ["contributor", `DELETE /api/runs/${run}`, "200"],
  ["contributor", `PATCH /api/projects/${project}`, "403 forbidden"],
  ["admin", `GET /api/runs/${run}`, "403 forbidden"],
  // where existence is hidden
  ["stranger", `GET /api/runs/${run}/files`, "404 run_not_found"],
  ["stranger", `GET /api/runs/${unknown}/files`, "404 run_not_found"],
  ["viewer", `GET /api/runs/${run}/files`, "200"],
  // then the method, only for those who may see the path
  ["stranger", `PUT /api/runs/${unknown}`, "404 run_not_found"],
  ["stranger", `PUT /api/runs/${run}`, "403 forbidden"],
  ["viewer", `PUT /api/runs/${run}`, "405 method_not_allowed"],
  // then the form of the input, then what it says
  ["viewer", `POST /api/runs/${run}/review`, "403 forbidden"],
  ["contributor", `POST /api/runs/${run}/review`, "400 invalid_json"],
  // other kinds of access
  ["viewer", "GET /api/people", "403 human_entra_subject_required"],
  ["viewer", "GET /api/everything", "403 forbidden"],
  ["admin", "GET /api/everything", "200"],
  // the service's own key opens its callbacks and nothing else
  ["internal", "GET /api/toys", "403 forbidden"],
  ["internal", "GET /api/nothing", "403 forbidden"],
  ["internal", "GET /api/runs/x", "403 forbidden"],
  ["internal", `GET /api/runs/${run}`, "403 forbidden"],
  ["internal", `GET /api/projects/${project}`, "403 forbidden"],
  ["internal", `POST /api/runs/${run}/preview`, "200"],
  ["internal", `POST /api/runs/${unknown}/preview`, "404 run_not_found"],
  ["internal", "GET /api/news", "200"],
]

describe("the order of what is looked at", () => {
  it.effect.each(order)("%s, %s: %s", ([as, what, expected]) =>
    Effect.gen(function* () {
      const app = yield* testGateway(toys)
      expect(short(yield* ask(app, what, { as }))).toBe(expected)
    }),
  )

  it.effect("tells strangers no more than 401, whatever else is wrong", () =>
    Effect.gen(function* () {
      expect(yield* toldToStrangers(yield* testGateway(toys), toys)).toEqual([])
    }),
  )

  it.effect("shows strangers the same for a hidden run and one that is not there", () =>
    Effect.gen(function* () {
      const app = yield* testGateway(toys)
      const hidden = yield* ask(app, `GET /api/runs/${run}/files`, { as: "stranger" })
      const absent = yield* ask(app, `GET /api/runs/${unknown}/files`, { as: "stranger" })
      expect(hidden.text).toBe(absent.text)
    }),
  )

  it.effect.each([
    "Basic dXNlcjpwYXNz",
    "Bearer",
    "Bearer ",
    "key-of-the-owner",
    "Bearer a b",
    "Bearer\tx",
    "Bearer wrong",
  ])("takes %j for no credential", (authorization) =>
    Effect.gen(function* () {
      const app = yield* testGateway(toys)
      expect(short(yield* ask(app, "GET /api/toys", { headers: { authorization } }))).toBe("401 unauthorized")
    }),
  )

  it.effect("takes no key from the URL, and the scheme in any case", () =>
    Effect.gen(function* () {
      const app = yield* testGateway(toys)
      for (const name of ["access_token", "api_key", "key", "token"]) {
        expect((yield* ask(app, `GET /api/toys/1?${name}=key-of-the-owner`)).status).toBe(401)
      }
      expect((yield* ask(app, "GET /api/toys", { headers: { authorization: "bEARER key-of-the-owner" } })).status).toBe(
        200,
      )
    }),
  )

  it.effect("knows nobody where no key is configured", () =>
    Effect.gen(function* () {
      const app = yield* testGateway(toys, { authenticators: [] })
      expect((yield* ask(app, "GET /api/toys", { as: "owner" })).status).toBe(401)
    }),
  )

  it.effect("names the methods that a path does have", () =>
    Effect.gen(function* () {
      const app = yield* testGateway(toys)
      expect((yield* ask(app, `PUT /api/runs/${run}`, { as: "viewer" })).headers.get("allow")).toBe("GET, HEAD, DELETE")
    }),
  )

  it.effect("answers HEAD as GET, without the body", () =>
    Effect.gen(function* () {
      const app = yield* testGateway([
        ...toys,
        toy("GET", "/api/live", {
          handle: () =>
            Effect.succeed(
              reply.socket(() => {
                throw new Error("opened")
              }),
            ),
          contentType: "text/event-stream",
        }),
      ])
      const head = yield* ask(app, "HEAD /health")
      expect([head.status, head.text]).toEqual([200, ""])
      expect((yield* ask(app, "HEAD /api/toys")).status).toBe(401)
      const stream = yield* ask(app, "HEAD /api/live", { as: "viewer" })
      expect([stream.status, stream.headers.get("content-type")]).toEqual([200, "text/event-stream"])
    }),
  )
})
