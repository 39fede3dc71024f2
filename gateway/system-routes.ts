/**
 * The routes about the service itself: banner, probes, version, who am I, metrics. Probes answer
 * whatever the state of the service. Alive means that the process answers; ready means that it should
 * be sent requests: it has started, is not stopping, and its database answers.
 */
import { randomUUID } from "node:crypto"
import { unlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Schema, type Scope } from "effect"
import { type Caller, subjectOf } from "#core/auth/caller.ts"
import { refuse } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"
import { makeCheck } from "#gateway/health.ts"
import type { Lifecycle } from "#gateway/lifecycle.ts"

export interface SystemOptions {
  readonly version: string
  readonly lifecycle: Lifecycle
  /** Absolute. */
  readonly dataDirectory: string
  /** Succeeds when the database answers. */
  readonly database: Effect.Effect<unknown, unknown>
  /** The registry in the text format of Prometheus. */
  readonly metricsText: Effect.Effect<string>
  /** True opens `/metrics` to everybody who reaches the port; otherwise it needs a credential. */
  readonly publicMetrics: boolean
  /** Where this process runs; `podName` is null outside of Kubernetes. */
  readonly runtime: { readonly kubernetes: boolean; readonly podName: string | null }
  /** True where a model provider is configured. */
  readonly aiConfigured: boolean
}

const tag = "Service"
const Status = Schema.Struct({ status: Schema.String })
const prometheus = "text/plain; version=0.0.4; charset=utf-8"
const authMode = { auth_mode: "api_key", auth_mode_label: "API key" } as const

export const systemRoutes = Effect.fnUntraced(function* (
  options: SystemOptions,
): Effect.fn.Return<ReadonlyArray<Route>, never, Scope.Scope> {
  const database = yield* makeCheck(options.database)
  const folder = yield* makeCheck(writable(options.dataDirectory))
  const ready = readiness(options.lifecycle, database.passes)
  return [
    ...probes(options.lifecycle, ready),
    probe("/healthz/workspace", "Can the data folder be written?", () =>
      Effect.map(folder.passes, (yes) =>
        yes ? reply.json(200, { status: "ok" }) : unavailable("workspace_mount_unavailable"),
      ),
    ),
    ...about(options),
    ...session(options),
    route({
      method: "GET",
      path: "/metrics",
      access: options.publicMetrics ? access.public : access.authenticated,
      summary: "Metrics in the text format of Prometheus",
      tag,
      contentType: prometheus,
      handle: () => Effect.map(options.metricsText, (text) => reply.text(text, prometheus)),
    }),
  ]
})

type StatusAnswer = ReturnType<typeof reply.json<{ readonly status: string }>>

const unavailable = (error: string): StatusAnswer => {
  const body = { status: "unavailable", error }
  return reply.json(503, body, { "retry-after": "1" })
}

const probe = (path: string, summary: string, handle: () => Effect.Effect<StatusAnswer>): Route =>
  route<Record<never, never>, Record<never, never>, undefined, { readonly status: string }>({
    method: "GET",
    path,
    access: access.public,
    summary,
    tag,
    answer: Status,
    vital: true,
    handle,
  })

const readiness = (lifecycle: Lifecycle, databaseAnswers: Effect.Effect<boolean>): Effect.Effect<StatusAnswer> =>
  Effect.suspend(() => {
    const phase = lifecycle.phase()
    if (phase !== "serving") return Effect.succeed(unavailable(phase))
    return Effect.map(databaseAnswers, (yes) =>
      yes ? reply.json(200, { status: "ready" }) : unavailable("database_unavailable"),
    )
  })

const probes = (lifecycle: Lifecycle, ready: Effect.Effect<StatusAnswer>): ReadonlyArray<Route> => {
  const ok = () => Effect.succeed(reply.json(200, { status: "ok" }))
  return [
    probe("/health", "Does the process answer?", ok),
    probe("/health/live", "Does the process answer?", ok),
    probe("/api/ping", "Does the process answer?", ok),
    probe("/healthz", "Does the process answer?", () => Effect.succeed(reply.json(200, { status: "healthy" }))),
    probe("/api/health", "Has the service started?", () =>
      lifecycle.phase() === "starting" ? Effect.succeed(unavailable("starting")) : ok(),
    ),
    probe("/health/ready", "Should this replica be sent requests?", () => ready),
    probe("/readyz", "Should this replica be sent requests?", () => ready),
  ]
}

const about = ({ version, dataDirectory, runtime }: SystemOptions): ReadonlyArray<Route> => [
  route({
    method: "GET",
    path: "/",
    access: access.public,
    summary: "What answers here",
    tag,
    vital: true,
    answer: Schema.Struct({
      name: Schema.String,
      version: Schema.String,
      status: Schema.String,
      documentation: Schema.String,
      openapi: Schema.String,
    }),
    handle: () =>
      Effect.succeed({ name: "svc", version, status: "ok", documentation: "/docs", openapi: "/openapi.json" }),
  }),
  route({
    method: "GET",
    path: "/api/version",
    access: access.public,
    summary: "The version of this service",
    tag,
    answer: Schema.Struct({ version: Schema.String }),
    handle: () => Effect.succeed({ version }),
  }),
  route({
    method: "GET",
    path: "/api/server/info",
    access: access.public,
    summary: "What a client should know of this server",
    tag,
    answer: Schema.Struct({
      data_directory: Schema.String,
      auth_mode: Schema.String,
      auth_mode_label: Schema.String,
      repo_app_install_url: Schema.optionalKey(Schema.String),
    }),
    handle: () => Effect.succeed({ data_directory: dataDirectory, ...authMode }),
  }),
  route({
    method: "GET",
    path: "/api/system/runtime",
    access: access.authenticated,
    summary: "Where this process runs",
    tag,
    answer: Schema.Struct({ kubernetes: Schema.Boolean, podName: Schema.NullOr(Schema.String) }),
    handle: () => Effect.succeed(runtime),
  }),
]

const Session = Schema.Struct({
  authenticated: Schema.Boolean,
  auth_mode: Schema.String,
  display_name: Schema.NullOr(Schema.String),
  email: Schema.NullOr(Schema.String),
  login: Schema.NullOr(Schema.String),
  avatar_url: Schema.NullOr(Schema.String),
  entra_object_id: Schema.NullOr(Schema.String),
  platform_roles: Schema.Array(Schema.String),
  ai_configured: Schema.Boolean,
})

const sessionOf = (caller: Caller, aiConfigured: boolean): typeof Session.Type => {
  const name = caller.kind === "user" ? subjectOf(caller) : null
  return {
    authenticated: caller.kind === "user",
    auth_mode: authMode.auth_mode,
    display_name: name,
    email: null,
    login: name,
    avatar_url: null,
    entra_object_id: null,
    platform_roles: caller.kind === "user" && caller.platformAdmin ? ["administrator"] : [],
    ai_configured: aiConfigured,
  }
}

const session = ({ aiConfigured }: SystemOptions): ReadonlyArray<Route> => [
  route({
    method: "GET",
    path: "/api/auth/config",
    access: access.public,
    summary: "How clients sign in",
    tag,
    answer: Schema.Struct({ auth_mode: Schema.String, auth_mode_label: Schema.String }),
    handle: () => Effect.succeed(authMode),
  }),
  route({
    method: "GET",
    path: "/api/auth/session",
    access: access.public,
    summary: "Who am I? Without a valid credential: nobody",
    tag,
    answer: Session,
    handle: ({ caller }) =>
      // the service's own key is not a session of anybody
      caller.kind === "internal" ? refuse("forbidden") : Effect.succeed(sessionOf(caller, aiConfigured)),
  }),
]

/** A name of its own each time: replicas may share the folder. */
const writable = (folder: string): Effect.Effect<void, unknown> =>
  Effect.tryPromise(async () => {
    const path = join(folder, `.write-check-${randomUUID()}`)
    await writeFile(path, "", { flag: "wx", mode: 0o600 })
    await unlink(path)
  })
