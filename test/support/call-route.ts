/**
 * Calls routes through the real gateway: the caller is recognised, let in by the stored records, the
 * input is decoded and every answer is held against the shape that its route documents.
 */
import { Duration, Effect } from "effect"
import { Access } from "#core/auth/access.ts"
import type { Authenticator } from "#core/auth/authenticator.ts"
import type { Method, Route } from "#core/route.ts"
import { makeGateway } from "#gateway/app.ts"
import { makeLifecycle } from "#gateway/lifecycle.ts"
import { makeLoad } from "#gateway/load.ts"

export interface Call {
  /** Who calls; `ada` where absent, nobody where null. `admin` is a platform administrator, `svc-internal` the service. */
  readonly as?: string | null
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

export interface Called {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any
}

/** The bearer token is the name. */
const byName: Authenticator = {
  name: "by-name",
  recognise: ({ bearer }) =>
    Effect.succeed(
      bearer === undefined
        ? undefined
        : bearer === "svc-internal"
          ? { kind: "internal" }
          : { kind: "user", subject: bearer, via: "api-key", platformAdmin: bearer === "admin" },
    ),
}

export type CallRoute = (method: Method, path: string, call?: Call) => Effect.Effect<Called>

/** Of the authenticator that takes names for keys, others that go before it. */
type Before = (byName: Authenticator) => ReadonlyArray<Authenticator>

export const callRoute = Effect.fnUntraced(function* (routes: ReadonlyArray<Route>, before: Before = () => []) {
  const app = yield* makeGateway({
    routes,
    authenticators: [...before(byName), byName],
    access: yield* Access,
    bodyLimit: 1_048_576,
    validateAnswers: true,
    lifecycle: makeLifecycle("serving"),
    load: makeLoad(),
    corsOrigins: [],
    requestTimeout: Duration.seconds(20),
  })
  const call: CallRoute = (method, path, { as = "ada", body, headers } = {}) =>
    Effect.promise(async () => {
      const text = body === undefined ? undefined : JSON.stringify(body)
      const response = await app.request(path, {
        method,
        headers: {
          ...(as === null ? {} : { authorization: `Bearer ${as}` }),
          ...headers,
          ...(text === undefined ? { "content-length": "0" } : { "content-type": "application/json" }),
        },
        ...(text === undefined ? {} : { body: text }),
      })
      const answer = await response.text()
      return { status: response.status, body: answer === "" ? undefined : JSON.parse(answer) }
    })
  return call
})
