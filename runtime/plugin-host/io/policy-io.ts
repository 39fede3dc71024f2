/**
 * Serves what a policy asks for while it decides: by what its plugin was granted, so often and so much in one decision. Every request
 * has an answer, also one that is refused or fails; what was asked and answered goes into the digest of the decision's receipt.
 */
import { createHash, type Hash } from "node:crypto"
import { Duration, Effect, Result } from "effect"
import type { IoUse } from "#core/hook/handler.ts"
import type { Sql } from "#core/sql.ts"
import type { Outgoing } from "#runtime/outgoing/outgoing.ts"
import { type KeptValues, keptValues } from "#runtime/plugin-host/io/kept-values.ts"
import {
  type HttpAnswer,
  HttpRequest,
  type KvAnswer,
  KvRequest,
  readRequest,
} from "#runtime/plugin-host/io/requests.ts"
import type { Permissions } from "#runtime/plugin-host/packages/permissions.ts"
import { type IoCall, ioRefused } from "#runtime/plugin-host/wasm/io-request.ts"

/** Of one decision. */
export const mostCalls: Readonly<Record<IoCall, number>> = { http: 8, kv: 64 }
/** Requests and answers of one decision together. */
export const mostIoBytes = 512 * 1_024
/** Of the body of one answer. */
const mostAnswerBytes = 128 * 1_024
const defaultTimeLimit = Duration.seconds(10)

/** One decision. */
export interface IoSession {
  readonly serve: (call: IoCall, request: Uint8Array) => Effect.Effect<Uint8Array>
  /** Undefined: it asked for nothing. */
  readonly used: () => IoUse | undefined
}

export interface PolicyIoServer {
  readonly begin: () => IoSession
}

export interface PolicyIoOptions {
  readonly plugin: string
  /** What was granted, not what is asked for. */
  readonly grants: Permissions
  readonly outgoing: Outgoing["Service"]
}

export const makePolicyIo = Effect.fnUntraced(function* (
  options: PolicyIoOptions,
): Effect.fn.Return<PolicyIoServer, never, Sql> {
  const values = yield* keptValues(options.plugin)
  const answers: Answers = { http: httpWith(options), kv: kvWith(options, values) }
  return { begin: () => makeSession(answers) }
})

type Answers = Readonly<Record<IoCall, (request: Uint8Array) => Effect.Effect<HttpAnswer | KvAnswer, Unserved>>>

interface Unserved {
  readonly reason: string
  readonly message: string
}

const unserved = (reason: string, message: string) => Effect.fail<Unserved>({ reason, message })

const makeSession = (answers: Answers): IoSession => {
  const calls = { http: 0, kv: 0 }
  const hash = createHash("sha256")
  let bytes = 0
  const answer = (call: IoCall, request: Uint8Array): Effect.Effect<Uint8Array> => {
    if (++calls[call] > mostCalls[call]) {
      return Effect.succeed(ioRefused("limit", `One decision has ${mostCalls[call]} calls of ${call}.`))
    }
    return answers[call](request).pipe(
      Effect.map((given) => Buffer.from(JSON.stringify({ ok: true, ...given }))),
      Effect.catch(({ reason, message }) => Effect.succeed(ioRefused(reason, message))),
    )
  }
  return {
    serve: Effect.fnUntraced(function* (call, request) {
      const given = yield* answer(call, request)
      bytes += request.length + given.length
      const sent =
        bytes > mostIoBytes ? ioRefused("limit", `One decision asks and is answered ${mostIoBytes} bytes.`) : given
      for (const part of [Buffer.from(call), request, sent]) digestPart(hash, part)
      return sent
    }),
    used: () => {
      const total = calls.http + calls.kv
      return total === 0 ? undefined : { calls: total, digest: `sha256:${hash.copy().digest("hex")}` }
    },
  }
}

/** With its length before it, so that no two sequences are the same bytes. */
const digestPart = (hash: Hash, part: Uint8Array): void => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(part.length)
  hash.update(length).update(part)
}

const httpWith = ({ grants, outgoing }: PolicyIoOptions) =>
  Effect.fnUntraced(function* (bytes: Uint8Array): Effect.fn.Return<HttpAnswer, Unserved> {
    const request = yield* decoded(readRequest(HttpRequest, bytes))
    const { url, method, headers, body, timeoutMs } = request
    const answer = yield* outgoing
      .fetch({
        url,
        origins: grants.net,
        methods: ["GET", "HEAD", "POST"],
        ...(method === undefined ? {} : { method }),
        ...(headers === undefined ? {} : { headers }),
        ...(body === undefined ? {} : { body: Buffer.from(body) }),
        mostBytes: mostAnswerBytes,
        timeLimit: timeoutMs === undefined ? defaultTimeLimit : Duration.millis(timeoutMs),
      })
      .pipe(Effect.mapError(({ reason, message }): Unserved => ({ reason, message })))
    return { status: answer.status, headers: answer.headers, body: Buffer.from(answer.bytes).toString() }
  })

const kvWith = ({ grants }: PolicyIoOptions, values: KeptValues) =>
  Effect.fnUntraced(function* (bytes: Uint8Array): Effect.fn.Return<KvAnswer, Unserved> {
    if (!grants.kv) return yield* unserved("not_granted", "It was not granted kv.")
    const request = yield* decoded(readRequest(KvRequest, bytes))
    return yield* Effect.catchTags(kept(values, request), {
      QuotaExceeded: ({ message }) => unserved("quota", message),
      DatabaseUnavailable: () => unserved("unavailable", "The database does not answer."),
    })
  })

const kept = Effect.fnUntraced(function* (values: KeptValues, request: KvRequest) {
  switch (request.do) {
    case "get":
      return { value: yield* values.get(request.key) }
    case "set":
      return { done: yield* values.set(request.key, request.value, request.if) }
    case "delete":
      return { done: yield* values.delete(request.key) }
  }
})

const decoded = <T>(read: Result.Result<T, string>): Effect.Effect<T, Unserved> =>
  Result.isSuccess(read) ? Effect.succeed(read.success) : unserved("request", read.failure)
