/**
 * The OpenAPI 3.1 document of the mounted routes. Made from the same schemas that decode requests, so
 * that it cannot say something else; equal routes give equal bytes.
 */
import { Effect, JsonSchema, Schema, SchemaRepresentation } from "effect"
import { Issue, type RefusalCode, refusalCodes, statusOf } from "#core/refusal.ts"
import { type Access, access, type Route, reply } from "#core/route.ts"
import { patternOf } from "#gateway/path.ts"

type Json = { readonly [key: string]: unknown }

export interface DocumentInfo {
  readonly title: string
  readonly version: string
  readonly description: string
}

/** What is sent for every failure. */
const ErrorBody = Schema.Struct({
  error: Schema.Literals(refusalCodes),
  message: Schema.String,
  issues: Schema.optionalKey(Schema.Array(Issue)),
}).annotate({ identifier: "Error", description: "A failure: its code, and what it means in words." })

/** A place in the document that waits for the JSON Schema of `schema`. */
interface Slot {
  readonly schema: Schema.Constraint
  readonly fill: (json: JsonSchema.JsonSchema) => void
}

export const openApiDocument = (routes: ReadonlyArray<Route>, info: DocumentInfo): Json => {
  const paths: Record<string, Record<string, unknown>> = {}
  const slots: Array<Slot> = [{ schema: ErrorBody, fill: () => {} }]
  const sorted = routes
    .filter(({ undocumented }) => undocumented !== true)
    .sort((a, b) => (a.path === b.path ? compare(a.method, b.method) : compare(a.path, b.path)))
  for (const route of sorted) {
    const path = route.path.replaceAll("{**", "{")
    const operations = paths[path] ?? {}
    operations[route.method.toLowerCase()] = operation(route, slots)
    paths[path] = operations
  }
  return {
    openapi: "3.1.0",
    info,
    tags: [...new Set(sorted.map(({ tag }) => tag))].sort(compare).map((name) => ({ name })),
    paths,
    components: {
      schemas: filled(slots),
      securitySchemes: { apiKey: { type: "http", scheme: "bearer", description: "An API key, or a token." } },
    },
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Puts the JSON Schemas into their places and gives the named ones, which they refer to. */
const filled = (slots: ReadonlyArray<Slot>): Json => {
  const [first, ...rest] = slots
  if (first === undefined) return {}
  const representations = SchemaRepresentation.toRepresentations([
    first.schema.ast,
    ...rest.map(({ schema }) => schema.ast),
  ])
  const { schemas, definitions } = JsonSchema.toMultiDocumentOpenApi3_1(
    SchemaRepresentation.toJsonSchemaMultiDocument(representations),
  )
  for (const [index, schema] of schemas.entries()) slots[index]?.fill(schema)
  return Object.fromEntries(Object.entries(definitions).sort(([a], [b]) => compare(a, b)))
}

const operation = (route: Route, slots: Array<Slot>): Json => {
  const json: Record<string, unknown> = {
    operationId: operationId(route),
    summary: route.summary,
    description: accessText(route.access),
    tags: [route.tag],
    parameters: parameters(route, slots),
    security: route.access.kind === "public" ? [] : [{ apiKey: [] }],
  }
  if (route.body !== undefined) {
    json.requestBody = {
      required: route.bodyOptional !== true,
      content: { "application/json": slot(slots, Schema.toEncoded(route.body)) },
    }
  }
  json.responses = { ...successes(route, slots), ...failures(route) }
  return json
}

/** `get_api_runs_id`: stable, so that generated clients keep their names. */
const operationId = ({ method, path }: Route): string =>
  `${method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+/g, "_")}`.replace(/_$/, "")

/** Said at every operation: what a caller needs. */
const accessText = (needed: Access): string => {
  switch (needed.kind) {
    case "public":
      return "Access: public."
    case "authenticated":
      return "Access: any caller with a credential."
    case "human":
      return "Access: a person signed in with the identity provider; API keys are refused."
    case "platform-admin":
      return "Access: platform administrators."
    case "project":
      return `Access: role ${needed.role} in the project, or more${letInText[needed.runs]}.`
    case "run-capability":
      return "Access: agents of the project's runs, with the internal key and the capability of their run."
    case "run":
      return `Access: role ${needed.role} in the run's project, or more; without a project, whoever submitted the run.`
  }
}

const letInText = {
  none: "",
  any: "; agents of the project's runs, with the capability of their run",
  coordinator: "; coordinators of the project, with the capability of their run",
} as const

const parameters = (route: Route, slots: Array<Slot>): ReadonlyArray<unknown> => {
  const inPath = patternOf(route.path)?.parameters ?? []
  const list: Array<Record<string, unknown>> = inPath.map((name) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }))
  for (const [place, schema] of [
    ["path", route.params],
    ["query", route.query],
  ] as const) {
    if (schema === undefined) continue
    // the type side: to a reader `size` is an integer, although a URL carries text
    slots.push({ schema: Schema.toType(schema), fill: (json) => addParameters(list, place, json) })
  }
  return list
}

const addParameters = (list: Array<Record<string, unknown>>, place: "path" | "query", json: JsonSchema.JsonSchema) => {
  const { properties, required } = membersOf(json)
  for (const [name, schema] of Object.entries(properties)) {
    const known = list.find((parameter) => parameter.name === name && parameter.in === place)
    if (known !== undefined) known.schema = schema
    else if (place === "query") list.push({ name, in: place, required: required.has(name), schema })
  }
}

const membersOf = (json: JsonSchema.JsonSchema): { properties: object; required: ReadonlySet<unknown> } => ({
  properties: typeof json.properties === "object" && json.properties !== null ? json.properties : {},
  required: new Set(Array.isArray(json.required) ? json.required : []),
})

const slot = (slots: Array<Slot>, schema: Schema.Constraint): Json => {
  const place: Record<string, unknown> = {}
  slots.push({
    schema,
    fill: (json) => {
      place.schema = json
    },
  })
  return place
}

const successes = (route: Route, slots: Array<Slot>): Json => {
  const content =
    route.contentType !== undefined
      ? { content: { [route.contentType]: { schema: { type: "string" } } } }
      : route.answer !== undefined
        ? { content: { "application/json": slot(slots, Schema.toEncoded(route.answer)) } }
        : {}
  const statuses = route.statuses ?? [200]
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      { description: descriptions[status] ?? "Done.", ...(status === 204 ? {} : content) },
    ]),
  )
}

const descriptions: Readonly<Record<number, string>> = {
  200: "Done.",
  201: "Made.",
  202: "Accepted; it goes on without you.",
  204: "Done; there is nothing to tell.",
}

/** Which codes a caller can meet at a route, beside its own. */
const failures = (route: Route): Json => {
  const codes: Array<RefusalCode> = [...(route.refuses ?? []), "internal_error"]
  if (route.access.kind !== "public") codes.push("unauthorized", "database_unavailable")
  if (route.vital !== true) codes.push("overloaded", "timed_out")
  if (route.access.kind === "run")
    codes.push("run_not_found", ...(route.access.hidesExistence ? [] : (["invalid_run_id"] as const)))
  if (route.access.kind === "project") codes.push("project_not_found", "invalid_project_id")
  if (route.access.kind === "human") codes.push("human_entra_subject_required")
  if (route.access.kind !== "public" && route.access.kind !== "authenticated") codes.push("forbidden")
  if (route.params !== undefined || route.query !== undefined || route.body !== undefined) codes.push("invalid_request")
  if (route.body !== undefined) codes.push("invalid_json", "payload_too_large", "unsupported_media_type")
  const byStatus = Map.groupBy([...new Set(codes)].sort(compare), statusOf)
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      String(status),
      {
        description: names.map((name) => `\`${name}\``).join(", "),
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    ]),
  )
}

/** `GET /openapi.json`, made once. */
export const openApiRoute = (routes: ReadonlyArray<Route>, info: DocumentInfo): Route => {
  const self: Route = {
    method: "GET",
    path: "/openapi.json",
    access: access.public,
    summary: "This document",
    tag: "Service",
    contentType: "application/json",
    handle: () => text,
  }
  let made: string | undefined
  const text = Effect.sync(() => {
    made ??= JSON.stringify(openApiDocument([...routes, self], info))
    return reply.text(made, "application/json; charset=utf-8", { "cache-control": "no-cache" })
  })
  return self
}
