/** A gateway for tests: toy routes, known callers, roles from a table. Over `app.request` or a real socket. */
import { Duration, Effect } from "effect"
import { apiKeys } from "#core/auth/api-keys.ts"
import type { Route } from "#core/route.ts"
import { settingsForTests } from "#core/settings.ts"
import { type Gateway, type GatewayOptions, makeGateway } from "#gateway/app.ts"
import { makeLifecycle } from "#gateway/lifecycle.ts"
import { makeLoad } from "#gateway/load.ts"
import { type AccessTable, accessFake } from "#test/fakes/access.ts"

/** Who calls in the tests, by API key. */
export const keys = {
  owner: "key-of-the-owner",
  contributor: "key-of-the-contributor",
  viewer: "key-of-the-viewer",
  stranger: "key-of-the-stranger",
  admin: "key-of-the-admin",
  internal: "key-of-the-service-itself",
} as const
export type TestCaller = keyof typeof keys

export const run = "11111111-1111-4111-8111-111111111111"
export const project = "22222222-2222-4222-8222-222222222222"
/** A well-formed id that names nothing. */
export const unknown = "99999999-9999-4999-8999-999999999999"

const roles = { owner: "owner", contributor: "contributor", viewer: "viewer" } as const
const table: AccessTable = { runs: { [run]: { projectId: project, roles } }, projects: { [project]: roles } }

export const testSettings = settingsForTests({
  Auth: {
    Keys: Object.entries(keys)
      .filter(([user]) => user !== "internal")
      .map(([User, Token]) => ({ Token, User })),
    InternalKey: keys.internal,
    PlatformAdministrators: ["admin"],
  },
})

export const testGateway = (
  routes: ReadonlyArray<Route>,
  options: Partial<GatewayOptions> = {},
): Effect.Effect<Gateway> =>
  makeGateway({
    routes,
    authenticators: [apiKeys(testSettings.Auth)],
    access: accessFake(table),
    bodyLimit: 1_048_576,
    validateAnswers: true,
    lifecycle: makeLifecycle("serving"),
    load: makeLoad(),
    corsOrigins: [],
    requestTimeout: Duration.seconds(5),
    ...options,
  }).pipe(Effect.orDie)

export interface Ask {
  readonly as?: TestCaller | undefined
  readonly headers?: Record<string, string>
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream
  /** Sent as JSON. */
  readonly json?: unknown
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Undefined where the answer is not JSON. */
  readonly body: unknown
}

/** `ask(app, "GET /api/runs/x", { as: "viewer" })` */
export const ask = (app: Gateway, what: string, { as, headers, body, json }: Ask = {}): Effect.Effect<Answer> =>
  Effect.promise(async () => {
    const [method = "", target = ""] = what.split(" ")
    const init: RequestInit & { duplex?: "half" } = {
      method,
      headers: {
        ...(as === undefined ? {} : { authorization: `Bearer ${keys[as]}` }),
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
    }
    if (json !== undefined) init.body = JSON.stringify(json)
    if (body !== undefined) Object.assign(init, { body, duplex: "half" })
    const response = await app.request(target, init)
    const text = await response.text()
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true && text !== ""
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
  })

/** `401 unauthorized`: the short form of an answer that the tables of tests expect. */
export const short = ({ status, body }: Answer): string =>
  typeof body === "object" && body !== null && "error" in body ? `${status} ${String(body.error)}` : String(status)
