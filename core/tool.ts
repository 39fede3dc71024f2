/**
 * An MCP tool is another name for a route: its parameters are those of the route, its input schema is made
 * from the route's schemas, and calling it is calling the route, with the same access and the same checks.
 */
import { Result, Schema } from "effect"
import { type Issue, type Refusal, refuseInput } from "#core/refusal.ts"
import type { Method, Route } from "#core/route.ts"

/** Where a parameter of the tool goes in the request. */
export interface Place {
  readonly in: "path" | "query" | "body"
  /** Its name there. */
  readonly name: string
}

export interface Tool {
  /** Snake case: `change_freeze_get`. */
  readonly name: string
  readonly description: string
  readonly method: Method
  /** As the route declares it. */
  readonly path: string
  /** Tool parameters that have another name in the route: `{ run_id: { in: "path", name: "id" } }`. */
  readonly parameters?: Readonly<Record<string, Place>>
}

export const toolNameForm = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/

/** A tool for a route. The rest of the parameters keep the names that the route gives them. */
export const toolFor = (
  route: Route,
  tool: { readonly name: string; readonly description: string; readonly parameters?: Readonly<Record<string, Place>> },
): Tool => ({ ...tool, method: route.method, path: route.path })

type Json = Readonly<Record<string, unknown>>

interface Parameter {
  readonly name: string
  readonly place: Place
  readonly schema: Json
  readonly required: boolean
}

export interface ToolInput {
  /** JSON Schema 2020-12 of the tool's arguments. */
  readonly schema: Json
  readonly parameters: ReadonlyArray<Parameter>
}

/** Fails, with what is wrong, for a tool that does not fit its route. */
export const toolInput = (tool: Tool, route: Route): Result.Result<ToolInput, string> => {
  const definitions: Record<string, unknown> = {}
  const found = [
    ...pathParameters(route, definitions),
    ...members(route.query, "query", definitions),
    ...members(route.body, "body", definitions),
  ]
  const renamed = Object.entries(tool.parameters ?? {})
  const lost = renamed.find(
    ([, { in: where, name }]) => !found.some((p) => p.place.in === where && p.place.name === name),
  )
  if (lost !== undefined) {
    return Result.fail(
      `the parameter ${lost[0]} stands for ${lost[1].name} of the ${lost[1].in}, which the route does not have`,
    )
  }
  const parameters = found.map((parameter) => {
    const other = renamed.find(([, place]) => place.in === parameter.place.in && place.name === parameter.place.name)
    return other === undefined ? parameter : { ...parameter, name: other[0] }
  })
  const names = parameters.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) {
    return Result.fail(`two parameters are called ${twice}: give one of them another name`)
  }
  return Result.succeed({
    parameters,
    schema: {
      type: "object",
      properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
      required: parameters.filter(({ required }) => required).map(({ name }) => name),
      additionalProperties: false,
      ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }),
    },
  })
}

export interface ToolCall {
  readonly method: Method
  /** With every parameter in its place, escaped as data: no argument can lead to another route. */
  readonly target: string
  /** Undefined where the route takes no body. */
  readonly body: Json | undefined
}

/** The request that a call of the tool stands for. What the values may be is the route's to say. */
export const toolCall = (tool: Tool, input: ToolInput, args: Json): Result.Result<ToolCall, Refusal> => {
  const issues: Array<Issue> = []
  const known = new Map(input.parameters.map((parameter) => [parameter.name, parameter]))
  for (const name of Object.keys(args)) {
    if (!known.has(name)) issues.push({ path: name, message: "The tool has no such parameter." })
  }
  const path = new Map<string, string>()
  const query = new URLSearchParams()
  const body: Record<string, unknown> = {}
  for (const { name, place, required } of input.parameters) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined
    if (value === undefined) {
      if (required) issues.push({ path: name, message: "This is missing." })
    } else if (place.in === "body") {
      body[place.name] = value
    } else if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
      issues.push({ path: name, message: "Expected a text, a number, true or false." })
    } else if (place.in === "query") {
      query.set(place.name, String(value))
    } else if (String(value) === "" || /^\.\.?$/.test(String(value))) {
      issues.push({ path: name, message: "Expected a text that is not empty." })
    } else {
      path.set(place.name, encodeURIComponent(String(value)))
    }
  }
  if (issues.length > 0) return Result.fail(refuseInput(issues))
  const filled = tool.path.replace(pathParameter, (_, name: string) => path.get(name) ?? "")
  const search = query.size === 0 ? "" : `?${query}`
  const hasBody = input.parameters.some(({ place }) => place.in === "body")
  return Result.succeed({ method: tool.method, target: `${filled}${search}`, body: hasBody ? body : undefined })
}

const pathParameter = /\{(?:\*\*)?([^{}]+)\}/g

const pathParameters = (route: Route, definitions: Record<string, unknown>): ReadonlyArray<Parameter> => {
  const described = new Map(members(route.params, "path", definitions).map((p) => [p.name, p.schema]))
  return [...route.path.matchAll(pathParameter)].map(([, name = ""]) => ({
    name,
    place: { in: "path", name },
    schema: described.get(name) ?? { type: "string" },
    required: true,
  }))
}

/** The members of an object schema; a schema that is no object has none. */
const members = (
  codec: Schema.Codec<unknown, unknown> | undefined,
  where: Place["in"],
  definitions: Record<string, unknown>,
): ReadonlyArray<Parameter> => {
  if (codec === undefined) return []
  const document = Schema.toJsonSchemaDocument(codec)
  Object.assign(definitions, document.definitions)
  const root = resolve(document.schema, document.definitions)
  const required = Array.isArray(root.required) ? root.required : []
  return Object.entries(asObject(root.properties)).map(([name, schema]) => ({
    name,
    place: { in: where, name },
    schema: asObject(schema),
    required: required.includes(name),
  }))
}

const resolve = (schema: Json, definitions: Json): Json => {
  const name = typeof schema.$ref === "string" ? /^#\/\$defs\/(.+)$/.exec(schema.$ref)?.[1] : undefined
  return name === undefined ? schema : asObject(definitions[name])
}

const asObject = (value: unknown): Json => (typeof value === "object" && value !== null ? { ...value } : {})
