/**
 * A route is data: method, path, access, schemas, handler. The gateway mounts it and does
 * everything that is the same for all: who, may they, decode, handle, render, document.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Effect, Schema } from "effect"
import type { Caller } from "#core/auth/caller.ts"
import type { Role } from "#core/auth/role.ts"
import type { Refusal, RefusalCode } from "#core/refusal.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/** Who may call a route. `param` names the path parameter that holds the run or project id. */
export type Access =
  | { readonly kind: "public" }
  | { readonly kind: "authenticated" }
  /** A person signed in with the identity provider; an API key is refused. */
  | { readonly kind: "human" }
  | { readonly kind: "platform-admin" }
  | {
      readonly kind: "project"
      readonly role: Role
      readonly param: string
      /** Runs of the project whose agents are let in too, by a run capability: any of them, or coordinators alone. */
      readonly runs: "none" | "any" | "coordinator"
    }
  /** Agents of runs of the project alone, by a run capability. */
  | { readonly kind: "run-capability"; readonly param: string }
  | {
      readonly kind: "run"
      readonly role: Role
      readonly param: string
      /** Absent and forbidden look the same: 404. */
      readonly hidesExistence: boolean
      /** True where the parameter may also name a sub-stream, `{runId}-rai`. */
      readonly subStreams: boolean
      /** True where `svc-internal` is let in: a run-bound callback. */
      readonly internal: boolean
      /** True where a platform administrator is let in without a role. */
      readonly platformAdmin: boolean
    }

export const access = {
  public: { kind: "public" },
  authenticated: { kind: "authenticated" },
  human: { kind: "human" },
  platformAdmin: { kind: "platform-admin" },
  project: (role: Role, param = "id", runs: "none" | "any" | "coordinator" = "none") => ({
    kind: "project",
    role,
    param,
    runs,
  }),
  runCapability: (param = "id") => ({ kind: "run-capability", param }),
  run: (
    role: Role,
    options: {
      param?: string
      hidesExistence?: boolean
      subStreams?: boolean
      internal?: boolean
      platformAdmin?: boolean
    } = {},
  ) => ({
    kind: "run",
    role,
    param: options.param ?? "id",
    hidesExistence: options.hidesExistence ?? false,
    subStreams: options.subStreams ?? false,
    internal: options.internal ?? false,
    platformAdmin: options.platformAdmin ?? false,
  }),
} as const satisfies Record<string, Access | ((...args: never[]) => Access)>

/** What a handler is given: everything decoded. */
export interface RouteRequest<Params, Query, Body> {
  readonly caller: Caller
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly headers: Headers
  /** The id of this request, also in every log line about it and in `X-Request-Id`. */
  readonly requestId: string
}

/** A handler that answers something else than 200 with JSON says so. */
export type Reply<A> =
  | { readonly _tag: "Json"; readonly status: number; readonly body: A; readonly headers: Record<string, string> }
  | { readonly _tag: "Empty"; readonly status: number; readonly headers: Record<string, string> }
  /** JSON text that is ready, or another text of the given type. */
  | {
      readonly _tag: "Text"
      readonly status: number
      readonly type: string
      readonly text: string | Uint8Array
      readonly headers: Record<string, string>
    }
  /** The handler writes to the socket itself (streams). `open` must end the response in every case. */
  | { readonly _tag: "Socket"; readonly open: (exchange: Exchange) => void }

export interface Exchange {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}

export const reply = {
  json: <A>(status: number, body: A, headers: Record<string, string> = {}): Reply<A> => ({
    _tag: "Json",
    status,
    body,
    headers,
  }),
  empty: (status: 202 | 204 = 204, headers: Record<string, string> = {}): Reply<never> => ({
    _tag: "Empty",
    status,
    headers,
  }),
  text: (
    text: string | Uint8Array,
    type: string,
    headers: Record<string, string> = {},
    status = 200,
  ): Reply<never> => ({
    _tag: "Text",
    status,
    type,
    text,
    headers,
  }),
  socket: (open: (exchange: Exchange) => void): Reply<never> => ({ _tag: "Socket", open }),
}

export interface RouteSpec<Params, Query, Body, Answer> {
  readonly method: Method
  /** As the interface writes it: `/api/runs/{id}/files/{**path}`. */
  readonly path: string
  readonly access: Access
  /** One line for the documentation. */
  readonly summary: string
  readonly tag: string
  readonly params?: Schema.Codec<Params, unknown>
  /** Every query parameter that the route knows. Others, and repeated ones, are 400. Absent: none is looked at. */
  readonly query?: Schema.Codec<Query, unknown>
  /** Absent: the route takes no body and ignores one. */
  readonly body?: Schema.Codec<Body, unknown>
  /** True where an absent body counts as `{}`. */
  readonly bodyOptional?: boolean
  /** Bytes; 1 MiB where absent. */
  readonly bodyLimit?: number
  /**
   * Shape of the 200 (or 201, 202) answer on the wire; absent where the answer has no JSON body. It
   * documents and, in tests, checks: what the handler returns is sent as it is.
   */
  readonly answer?: Schema.Codec<Answer, unknown>
  /** Media type of the answer where it is not JSON, for the documentation: `text/event-stream`. */
  readonly contentType?: string
  /** Statuses of success; 200 where absent. */
  readonly statuses?: ReadonlyArray<number>
  /** Codes of the refusals that are the route's own, for the documentation. */
  readonly refuses?: ReadonlyArray<RefusalCode>
  /** Left out of the documentation: the files of a page, not part of the interface. */
  readonly undocumented?: boolean
  /** Answers also while the service starts, stops or is at its limit: probes. */
  readonly vital?: boolean
  readonly handle: (
    request: RouteRequest<Params, Query, Body>,
  ) => Effect.Effect<Answer | Reply<Answer>, Refusal | DatabaseUnavailable>
}

/** A route whose types the compiler has checked; the gateway needs to know no more. */
// biome-ignore lint/suspicious/noExplicitAny: the contract is where the types of one route end
export type Route = RouteSpec<any, any, any, any>

export const route = <
  Params = Record<never, never>,
  Query = Record<never, never>,
  Body = undefined,
  Answer = undefined,
>(
  spec: RouteSpec<Params, Query, Body, Answer>,
): Route => spec
