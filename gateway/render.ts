/**
 * What is sent for an outcome. One function turns a failure into `{ error, message, … }`; whatever was
 * not foreseen is one 500 that says nothing, logged with its cause under the request's id.
 */
import { Cause, Effect, Result } from "effect"
import { Refusal, refuse } from "#core/refusal.ts"
import type { Exchange, Reply } from "#core/route.ts"
import { DatabaseUnavailable } from "#core/sql.ts"
import { type HeaderRecord, json } from "#gateway/headers.ts"

/** Seconds after which a client should ask again, where a 503 says nothing else. */
const retryAfterDefault = 1
/** The same while the database does not answer: it takes seconds to come back. */
const retryAfterDatabase = 2

export interface Rendered {
  readonly status: number
  readonly body: string | Uint8Array<ArrayBuffer> | null
  readonly headers: HeaderRecord
  /** The handler writes to the socket itself; `status` and `body` are only what HEAD is told. */
  readonly open?: (exchange: Exchange) => void
}

const challenge: HeaderRecord = { "www-authenticate": "Bearer" }

export const renderRefusal = (refusal: Refusal): Rendered => {
  const retryAfter = refusal.retryAfter ?? (refusal.status === 503 ? retryAfterDefault : undefined)
  return {
    status: refusal.status,
    body: JSON.stringify({
      error: refusal.code,
      message: refusal.message,
      ...refusal.extra,
      ...(refusal.issues === undefined ? {} : { issues: refusal.issues }),
    }),
    headers: {
      "content-type": json,
      ...(refusal.status === 401 ? challenge : {}),
      ...(retryAfter === undefined ? {} : { "retry-after": String(Math.ceil(retryAfter)) }),
      // what is left of the request on the connection is not worth reading
      ...(refusal.status === 413 || refusal.status === 408 ? { connection: "close" } : {}),
    },
  }
}

const isExpected = (failure: unknown): failure is Refusal | DatabaseUnavailable =>
  failure instanceof Refusal || failure instanceof DatabaseUnavailable

/** The refusal that a caller is told for a failed request. */
export const renderCause = (cause: Cause.Cause<Refusal | DatabaseUnavailable>): Effect.Effect<Rendered> =>
  Effect.suspend(() => {
    const failure = Result.getOrUndefined(Cause.findError(cause))
    if (!isExpected(failure) || Cause.hasDies(cause)) {
      return Effect.as(
        Effect.logError("A request failed for a reason that was not foreseen", cause),
        renderRefusal(refuse("internal_error")),
      )
    }
    if (failure instanceof Refusal) return Effect.succeed(renderRefusal(failure))
    return Effect.as(
      Effect.logWarning("The database did not answer", { reason: failure.reason }),
      renderRefusal(refuse("database_unavailable", { retryAfter: retryAfterDatabase })),
    )
  })

const replyTags: ReadonlySet<unknown> = new Set(["Json", "Empty", "Text", "Socket"])

/** Handlers return their answer, or a `Reply` that says more. No answer of the interface has a `_tag`. */
const isReply = (answer: unknown): answer is Reply<unknown> =>
  typeof answer === "object" && answer !== null && "_tag" in answer && replyTags.has(answer._tag)

/** `contentType` is what the route documents; the answer of a stream to HEAD shows it. */
export const renderAnswer = (answer: unknown, contentType: string | undefined): Rendered => {
  if (!isReply(answer)) {
    return answer === undefined
      ? { status: 204, body: null, headers: {} }
      : { status: 200, body: JSON.stringify(answer), headers: { "content-type": json } }
  }
  switch (answer._tag) {
    case "Json":
      return {
        status: answer.status,
        body: JSON.stringify(answer.body),
        headers: { "content-type": json, ...answer.headers },
      }
    case "Empty":
      return { status: answer.status, body: null, headers: answer.headers }
    case "Text":
      return {
        status: answer.status,
        // Response takes views of an ArrayBuffer only; the copy is made for bytes that are shared
        body: typeof answer.text === "string" ? answer.text : new Uint8Array(answer.text),
        headers: { "content-type": answer.type, ...answer.headers },
      }
    case "Socket":
      return { status: 200, body: null, headers: { "content-type": contentType ?? json }, open: answer.open }
  }
}
