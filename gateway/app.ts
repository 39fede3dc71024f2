/**
 * The HTTP application: every route is mounted here, and every request passes here. It guards the
 * replica (starting, stopping, at its limit, too slow), names the request, and sends what
 * `gateway/answer.ts` makes of it. A client that goes away interrupts its handler.
 */
import type { HttpBindings } from "@hono/node-server"
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response"
import { Cause, type Duration, Effect, Exit, Tracer } from "effect"
import { type Context, Hono } from "hono"
import { Metrics } from "#core/ports/metrics.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import type { Route } from "#core/route.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"
import { answer, type Desk, type Visit } from "#gateway/answer.ts"
import { isPreflight, makeCors } from "#gateway/cors.ts"
import { type HeaderRecord, requestIdOf, securityHeaders } from "#gateway/headers.ts"
import type { Lifecycle } from "#gateway/lifecycle.ts"
import type { Load } from "#gateway/load.ts"
import { mount, type Resource, type RoutesInvalid } from "#gateway/mount.ts"
import { pathOf } from "#gateway/path.ts"
import { type Rendered, renderCause, renderRefusal } from "#gateway/render.ts"

export interface GatewayOptions extends Desk {
  readonly routes: ReadonlyArray<Route>
  readonly lifecycle: Lifecycle
  readonly load: Load
  readonly corsOrigins: ReadonlyArray<string>
  readonly requestTimeout: Duration.Duration
}

/** `incoming` and `outgoing` are there when the request came over a socket. */
type Env = { Bindings: Partial<HttpBindings> }

export type Gateway = Hono<Env>

/** Nobody reads it: the client is gone. The number is that of nginx. */
const clientGone = 499

export const makeGateway = Effect.fnUntraced(function* (
  options: GatewayOptions,
): Effect.fn.Return<Gateway, RoutesInvalid> {
  const resources = yield* mount(options.routes)
  const run = Effect.runPromiseExitWith(yield* Effect.context<never>())
  const metrics = yield* Metrics
  const cors = makeCors(options.corsOrigins)

  const visit = async (c: Context<Env>, resource: Resource | undefined): Promise<Response> => {
    const request = c.req.raw
    const started = performance.now()
    const headers: HeaderRecord = {
      ...securityHeaders,
      ...cors.headers(request.headers.get("origin")),
      "x-request-id": requestIdOf(request.headers),
    }
    if (isPreflight(request)) {
      return new Response(null, {
        status: 204,
        headers: { ...headers, ...cors.preflight(request.headers.get("origin")) },
      })
    }
    const visited = visitOf(c, resource, headers["x-request-id"] ?? "")
    const rendered = await rendering(visited, request.signal)
    const labels = {
      method: visited.method,
      route: resource?.pattern.written ?? "none",
      status: String(rendered.status),
    }
    metrics.count("svc_http_requests_total", labels)
    metrics.observe("svc_http_request_duration_seconds", (performance.now() - started) / 1_000, labels)
    // asked now: the service may have begun to stop since the request came
    const last: HeaderRecord = options.lifecycle.phase() === "draining" ? { connection: "close" } : {}
    return send(c, rendered, { ...headers, ...last })
  }

  const rendering = async (visited: Visit, signal: AbortSignal): Promise<Rendered> => {
    const vital = visited.resource?.methods.get(visited.method)?.route.vital === true
    if (!vital) {
      const turnedAway = guard(options)
      if (turnedAway !== undefined) return renderRefusal(turnedAway)
    }
    try {
      const exit = await run(inSpan(visited, bounded(answer(options, visited), options.requestTimeout)), { signal })
      if (Exit.isSuccess(exit)) return exit.value
      return signal.aborted && Cause.hasInterruptsOnly(exit.cause)
        ? { status: clientGone, body: null, headers: {} }
        : renderRefusal(refuse("internal_error"))
    } finally {
      if (!vital) options.load.leave()
    }
  }

  // The path is matched as it was sent: what Hono would decode first, two programs could read differently.
  const app: Gateway = new Hono<Env>({
    getPath: (request, bindings) => pathOf(targetOf(request, (bindings?.env as Env["Bindings"] | undefined) ?? {})),
  })
  for (const resource of resources) app.all(resource.pattern.hono, (c) => visit(c, resource))
  app.notFound((c) => visit(c, undefined))
  app.onError(async (error, c) => {
    await run(Effect.logError("The gateway failed to answer", error))
    return send(c, renderRefusal(refuse("internal_error")), securityHeaders)
  })
  return app
})

const visitOf = (c: Context<Env>, resource: Resource | undefined, requestId: string): Visit => {
  const target = targetOf(c.req.raw, c.env ?? {})
  const { method } = c.req.raw
  return {
    request: c.req.raw,
    requestId,
    method: method === "HEAD" ? "GET" : method,
    target,
    path: pathOf(target),
    resource,
    incoming: c.env?.incoming,
  }
}

const originForm = /^[a-z]+:\/\/[^/?#]*/

const targetOf = (request: Request, { incoming }: Env["Bindings"]): string =>
  incoming?.url ?? (request.url.replace(originForm, "") || "/")

/** Takes a place in the load, or says why there is none. */
const guard = ({ lifecycle, load }: GatewayOptions): Refusal | undefined => {
  switch (lifecycle.phase()) {
    case "starting":
      return refuse("starting")
    case "draining":
      return refuse("draining")
    case "serving":
      return load.enter() ? undefined : refuse("overloaded")
  }
}

const bounded = (
  answering: Effect.Effect<Rendered, Refusal | DatabaseUnavailable>,
  duration: Duration.Duration,
): Effect.Effect<Rendered> =>
  answering.pipe(
    Effect.timeoutOrElse({ duration, orElse: () => refuse("timed_out") }),
    Effect.catchCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.interrupt : renderCause(cause))),
  )

/** W3C Trace Context, version 00. */
const traceParentForm = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

const parentOf = (headers: Headers): { readonly parent?: Tracer.ExternalSpan } => {
  const [, traceId, spanId, flags] = traceParentForm.exec(headers.get("traceparent") ?? "") ?? []
  if (traceId === undefined || spanId === undefined) return {}
  return { parent: Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags ?? "0", 16) & 1) === 1 }) }
}

const inSpan = (visit: Visit, answering: Effect.Effect<Rendered>): Effect.Effect<Rendered> => {
  const route = visit.resource?.pattern.written ?? "none"
  return answering.pipe(
    Effect.tap(({ status }) =>
      Effect.annotateCurrentSpan("http.response.status_code", status).pipe(
        Effect.andThen(Effect.logDebug("Answered").pipe(Effect.annotateLogs({ method: visit.method, route, status }))),
      ),
    ),
    Effect.withSpan(`${visit.method} ${route}`, {
      kind: "server",
      attributes: { "http.request.method": visit.method, "http.route": route, request_id: visit.requestId },
      ...parentOf(visit.request.headers),
    }),
    Effect.annotateLogs({ request_id: visit.requestId, ...subjectsOf(visit) }),
  )
}

const idInPath = /^\/api\/(run|project)s\/([0-9a-fA-F-]{36})(?:\/|$)/

/** The run or project that log lines are about. */
const subjectsOf = ({ path }: Visit): Record<string, string> => {
  const [, kind, id] = idInPath.exec(path) ?? []
  return kind === undefined || id === undefined ? {} : { [`${kind}_id`]: id.toLowerCase() }
}

const send = (c: Context<Env>, { status, body, headers, open }: Rendered, always: HeaderRecord): Response => {
  if (open === undefined || c.req.raw.method === "HEAD") {
    return new Response(body, { status, headers: { ...always, ...headers } })
  }
  const { incoming, outgoing } = c.env ?? {}
  if (incoming === undefined || outgoing === undefined || !("req" in outgoing)) {
    throw new Error("A route that writes to the socket was asked without one")
  }
  for (const [name, value] of Object.entries(always)) outgoing.setHeader(name, value)
  open({ incoming, outgoing })
  return RESPONSE_ALREADY_SENT
}
