import { it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { describe, expect } from "vitest"
import { query } from "#core/query.ts"
import { access, type Route, reply } from "#core/route.ts"
import { docsRoutes } from "#gateway/docs-page.ts"
import { openApiDocument, openApiRoute } from "#gateway/openapi.ts"
import { ask, testGateway } from "#test/support/gateway.ts"

const info = { title: "svc", version: "1.2.3", description: "For tests" }

const Toy = Schema.Struct({ name: Schema.String, kind: Schema.Literals(["bear", "car"]) }).annotate({
  identifier: "Toy",
})

const routes: ReadonlyArray<Route> = [
  {
    method: "PUT",
    path: "/api/projects/{id}/toys/{toy}",
    access: access.project("contributor"),
    summary: "Change a toy",
    tag: "Toys",
    params: Schema.Struct({ id: Schema.String, toy: query.int({ minimum: 1, maximum: 9 }) }),
    query: Schema.Struct({ dry: Schema.optionalKey(query.boolean) }),
    body: Toy,
    answer: Toy,
    statuses: [200, 201],
    refuses: ["conflict"],
    handle: () => Effect.void,
  },
  {
    method: "GET",
    path: "/api/runs/{id}/files/{**path}",
    access: access.run("viewer", { hidesExistence: true }),
    summary: "A file",
    tag: "Files",
    contentType: "application/octet-stream",
    handle: () => Effect.succeed(reply.empty()),
  },
  {
    method: "DELETE",
    path: "/api/all",
    access: access.public,
    summary: "",
    tag: "Toys",
    statuses: [204],
    handle: () => Effect.void,
  },
]

/** A part of the document, by keys. */
const at = (document: unknown, ...keys: ReadonlyArray<string>): unknown =>
  keys.reduce<unknown>(
    (part, key) =>
      typeof part === "object" && part !== null ? Object.entries(part).find(([name]) => name === key)?.[1] : undefined,
    document,
  )

describe("the OpenAPI document", () => {
  const document = openApiDocument(routes, info)
  const change = (...keys: ReadonlyArray<string>) =>
    at(document, "paths", "/api/projects/{id}/toys/{toy}", "put", ...keys)

  it("says what decodes a request", () => {
    expect(document).toMatchObject({ openapi: "3.1.0", info })
    expect(change("parameters")).toEqual([
      { name: "id", in: "path", required: true, schema: { type: "string" } },
      { name: "toy", in: "path", required: true, schema: { type: "integer", minimum: 1, maximum: 9 } },
      { name: "dry", in: "query", required: false, schema: { type: "boolean" } },
    ])
    expect(change("requestBody")).toEqual({
      required: true,
      content: { "application/json": { schema: { $ref: "#/components/schemas/Toy" } } },
    })
    expect(at(document, "components", "schemas", "Toy")).toMatchObject({
      type: "object",
      required: ["name", "kind"],
      properties: { kind: { enum: ["bear", "car"] } },
    })
  })

  it("says what a caller needs, gets and may be refused", () => {
    expect(change("description")).toBe("Access: role contributor in the project, or more.")
    expect(change("security")).toEqual([{ apiKey: [] }])
    expect(change("responses", "201", "content", "application/json", "schema")).toEqual({
      $ref: "#/components/schemas/Toy",
    })
    expect(change("responses", "409", "description")).toBe("`conflict`")
    expect(change("responses", "400", "description")).toBe("`invalid_json`, `invalid_project_id`, `invalid_request`")
    expect(change("responses", "404", "content", "application/json", "schema")).toEqual({
      $ref: "#/components/schemas/Error",
    })
    const file = at(document, "paths", "/api/runs/{id}/files/{path}", "get")
    expect(at(file, "responses", "200", "content")).toEqual({
      "application/octet-stream": { schema: { type: "string" } },
    })
    expect(at(document, "paths", "/api/all", "delete", "security")).toEqual([])
    expect(at(document, "paths", "/api/all", "delete", "responses", "204")).not.toHaveProperty("content")
  })

  it("does not depend on the order of the routes", () => {
    expect(JSON.stringify(openApiDocument([...routes].reverse(), info))).toBe(JSON.stringify(document))
  })

  it("refers to nothing that it does not contain, and names each operation once", () => {
    const text = JSON.stringify(document)
    for (const [, name = ""] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      expect(at(document, "components", "schemas", name)).toBeDefined()
    }
    const ids = [...text.matchAll(/"operationId":"([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe("the documentation", () => {
  const served = [...routes, openApiRoute([...routes, ...docsRoutes], info), ...docsRoutes]

  it.effect("is public and complete, and leaves out the files of its page", () =>
    Effect.gen(function* () {
      const { status, body } = yield* ask(yield* testGateway(served), "GET /openapi.json")
      expect(status).toBe(200)
      const paths = at(body, "paths")
      expect(Object.keys(typeof paths === "object" && paths !== null ? paths : {})).toEqual([
        "/api/all",
        "/api/projects/{id}/toys/{toy}",
        "/api/runs/{id}/files/{path}",
        "/openapi.json",
      ])
    }),
  )

  it.effect("is shown by a page that loads everything from here", () =>
    Effect.gen(function* () {
      const app = yield* testGateway(served)
      const page = yield* ask(app, "GET /docs")
      expect(page.status).toBe(200)
      expect(page.headers.get("content-security-policy")).toMatch(/default-src 'none'; script-src 'self';/)
      const sources = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source ?? "")
      expect(sources.length).toBeGreaterThan(2)
      for (const source of sources) {
        expect(source).toMatch(/^\//)
        expect((yield* ask(app, `GET ${source}`)).status).toBe(200)
      }
      expect(page.text).not.toMatch(/<script>|<style|onload|https?:/)
    }),
  )
})
