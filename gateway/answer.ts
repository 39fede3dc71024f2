/**
 * One request from the route to what is sent: who, may they, decode, handle, render, in this order and
 * for every route alike. A client that learns nothing about a path without a credential learns nothing
 * about the input either.
 */
import type { IncomingMessage } from "node:http"
import { Effect, Schema } from "effect"
import type { Access } from "#core/auth/access.ts"
import { type Authenticator, authenticate } from "#core/auth/authenticator.ts"
import { anonymous, type Caller, subjectOf } from "#core/auth/caller.ts"
import { Refusal, refuse } from "#core/refusal.ts"
import { authorize, withCanonicalId } from "#gateway/authorize.ts"
import type { Mounted, Resource } from "#gateway/mount.ts"
import { badPath, parametersOf, pathProblem, queryOf } from "#gateway/path.ts"
import { type Rendered, renderAnswer, renderRefusal } from "#gateway/render.ts"

/** What the gateway needs to answer. */
export interface Desk {
  readonly authenticators: ReadonlyArray<Authenticator>
  readonly access: Access["Service"]
  /** Bytes, where a route says nothing else. */
  readonly bodyLimit: number
  /** Each JSON answer is held against its schema: for tests. */
  readonly validateAnswers: boolean
}

export interface Visit {
  readonly request: Request
  readonly requestId: string
  /** HEAD counts as GET. */
  readonly method: string
  /** Path and query, as they were sent. */
  readonly target: string
  readonly path: string
  /** What the path names; undefined for a path that nothing was mounted on. */
  readonly resource: Resource | undefined
  readonly incoming: IncomingMessage | undefined
}

/** Under this path nothing is said to strangers, not even what is missing. */
const isClosed = (path: string): boolean => path === "/api" || path.startsWith("/api/")

export const answer = Effect.fnUntraced(function* (desk: Desk, visit: Visit) {
  const { resource, path } = visit
  const problem = pathProblem(path)
  if (resource === undefined || problem !== undefined || (resource.pattern.takesRest && path.endsWith("/"))) {
    return yield* nothingHere(desk, visit, problem)
  }
  const mounted = resource.methods.get(visit.method)
  const access = mounted?.route.access ?? resource.leastAccess
  const params = withCanonicalId(access, parametersOf(mounted?.pattern ?? resource.pattern, path))
  const caller = yield* callerOf(desk, visit, mounted)
  yield* authorize(access, caller, params, desk.access).pipe(
    Effect.tapError((failure) => audit(visit, caller, failure)),
  )
  if (mounted === undefined) return methodNotAllowed(resource)
  return yield* handle(desk, visit, mounted, caller, params)
})

const nothingHere = Effect.fnUntraced(function* (desk: Desk, visit: Visit, problem: string | undefined) {
  if (isClosed(visit.path)) {
    const caller = yield* authenticate(desk.authenticators, visit.request.headers)
    yield* authorize({ kind: "authenticated" }, caller, {}, desk.access).pipe(
      Effect.tapError((failure) => audit(visit, caller, failure)),
    )
  }
  return yield* problem === undefined ? refuse("not_found") : badPath(problem)
})

/** Public routes are told who calls where that is known, and answer where it cannot be found out. */
const callerOf = (desk: Desk, { request }: Visit, mounted: Mounted | undefined) => {
  if (mounted?.route.vital === true) return Effect.succeed(anonymous)
  const caller = authenticate(desk.authenticators, request.headers)
  return mounted?.route.access.kind === "public"
    ? Effect.catchTag(caller, "DatabaseUnavailable", () => Effect.succeed(anonymous))
    : caller
}

const methodNotAllowed = ({ allow }: Resource): Rendered => {
  const rendered = renderRefusal(refuse("method_not_allowed", { message: `This path answers ${allow}.` }))
  return { ...rendered, headers: { ...rendered.headers, allow } }
}

const handle = Effect.fnUntraced(function* (
  desk: Desk,
  { request, requestId, target, incoming }: Visit,
  { name, route, decode }: Mounted,
  caller: Caller,
  params: Record<string, string>,
) {
  const query = queryOf(target)
  const decoded = yield* decode({ params, query, request, incoming, bodyLimit: desk.bodyLimit })
  const result = yield* route.handle({ ...decoded, caller, headers: request.headers, requestId })
  const rendered = renderAnswer(result, route.contentType)
  return desk.validateAnswers && route.contentType === undefined ? checked(name, route.answer, rendered) : rendered
})

/** Denied requests that would have changed something leave a line for whoever looks after the service. */
const audit = (visit: Visit, caller: Caller, failure: unknown): Effect.Effect<void> =>
  failure instanceof Refusal && (failure.status === 401 || failure.status === 403) && visit.method !== "GET"
    ? Effect.logWarning("Denied").pipe(
        Effect.annotateLogs({
          audit: "denied",
          subject: subjectOf(caller),
          method: visit.method,
          route: visit.resource?.pattern.written ?? "",
          code: failure.code,
        }),
      )
    : Effect.void

/** A wrong answer is told in full: only tests ask for this. */
const checked = (name: string, schema: Schema.Codec<unknown, unknown> | undefined, rendered: Rendered): Rendered => {
  const { body, headers, status } = rendered
  const isJson = typeof body === "string" && headers["content-type"]?.startsWith("application/json") === true
  if (!isJson || status >= 300) return rendered
  const problem =
    schema === undefined
      ? "no answer schema is declared"
      : Schema.decodeUnknownExit(schema, { errors: "all", onExcessProperty: "error" })(JSON.parse(body))
  if (typeof problem !== "string" && problem._tag === "Success") return rendered
  const reason = typeof problem === "string" ? problem : String(problem.cause)
  return renderRefusal(refuse("internal_error", { message: `${name} answered what it does not declare: ${reason}` }))
}
