/**
 * Turns a list of routes into what is mounted: one resource per path, with the route of each method.
 * Whatever is wrong with the routes is told at the start, all of it, and the service does not start.
 */
import { Effect, Schema } from "effect"
import { allows } from "#core/auth/role.ts"
import type { Access, Method, Route } from "#core/route.ts"
import { makeDecoder, type RouteDecoder } from "#gateway/decode.ts"
import { bySpecificity, type PathPattern, patternOf } from "#gateway/path.ts"

export class RoutesInvalid extends Schema.TaggedError<RoutesInvalid>()("RoutesInvalid", {
  problems: Schema.Array(Schema.String),
}) {
  override get message(): string {
    return `The routes do not fit together:\n${this.problems.map((problem) => `- ${problem}`).join("\n")}`
  }
}

export interface Mounted {
  /** `GET /api/runs/{id}`: in spans, logs, metrics and messages. */
  readonly name: string
  readonly route: Route
  readonly pattern: PathPattern
  readonly decode: RouteDecoder
}

/** One path and what it answers. */
export interface Resource {
  readonly pattern: PathPattern
  readonly methods: ReadonlyMap<string, Mounted>
  /** Value of the `Allow` header. */
  readonly allow: string
  /** What a caller needs at least to be told which methods there are. */
  readonly leastAccess: Access
}

const order: ReadonlyArray<Method> = ["GET", "POST", "PUT", "PATCH", "DELETE"]

export const mount = (routes: ReadonlyArray<Route>): Effect.Effect<ReadonlyArray<Resource>, RoutesInvalid> =>
  Effect.suspend(() => {
    const problems: Array<string> = []
    const paths = new Map<string, Map<string, Mounted>>()
    for (const route of routes) {
      const name = `${route.method} ${route.path}`
      const pattern = patternOf(route.path)
      if (pattern === undefined) {
        problems.push(`${name}: the path is not one of the form /api/runs/{id}/files/{**path}`)
        continue
      }
      problems.push(...accessProblems(name, route, pattern))
      const methods = paths.get(pattern.hono) ?? new Map<string, Mounted>()
      const taken = methods.get(route.method)
      if (taken !== undefined) problems.push(`${name} is declared twice: "${taken.route.summary}", "${route.summary}"`)
      methods.set(route.method, { name, route, pattern, decode: makeDecoder(route) })
      paths.set(pattern.hono, methods)
    }
    if (problems.length > 0) return new RoutesInvalid({ problems })
    return Effect.succeed([...paths.values()].map(resourceOf).sort((a, b) => bySpecificity(a.pattern, b.pattern)))
  })

const accessProblems = (name: string, { access }: Route, pattern: PathPattern): ReadonlyArray<string> => {
  // routes of plugins are made at run time: what their types promise is looked at again
  const given: Access | undefined = access
  if (given === undefined) return [`${name}: it does not say who may call it`]
  return (given.kind === "run" || given.kind === "project") && !pattern.parameters.includes(given.param)
    ? [`${name}: access depends on {${given.param}}, which the path does not have`]
    : []
}

const resourceOf = (methods: ReadonlyMap<string, Mounted>): Resource => {
  const mounted = order.flatMap((method) => methods.get(method) ?? [])
  const [first] = mounted
  if (first === undefined) throw new Error("A path without routes")
  return {
    pattern: first.pattern,
    methods,
    allow: mounted.map(({ route }) => (route.method === "GET" ? "GET, HEAD" : route.method)).join(", "),
    leastAccess: mounted.map(({ route }) => route.access).reduce(lesser),
  }
}

const lesser = (one: Access, other: Access): Access => {
  if (one.kind === "public" || other.kind === "public") return one.kind === "public" ? one : other
  if ("role" in one && "role" in other) return allows(one.role, other.role) ? other : one
  return one
}
