/** What a policy may ask for, and how it is answered: JSON, read strictly. A key that svc does not know is an error, never ignored. */
import { Result, Schema } from "effect"
import { methods } from "#runtime/outgoing/outgoing.ts"
import { longestUrl } from "#runtime/outgoing/target.ts"

export const mostKeyBytes = 256
export const mostValueBytes = 16 * 1_024
/** Milliseconds that one request may be given; the decision's own time ends it sooner. */
const longestRequest = 30_000

const bytesOf = (text: string): number => Buffer.byteLength(text)

/** Without halves of characters, which no encoding can keep. */
const wellFormed = (most: number) =>
  Schema.makeFilter((text: string) =>
    text.isWellFormed() && bytesOf(text) <= most ? undefined : `Expected text of at most ${most} bytes`,
  )

const Key = Schema.String.check(
  Schema.isMinLength(1),
  wellFormed(mostKeyBytes),
  // PostgreSQL has no text with it
  Schema.makeFilter((text: string) => (text.includes("\0") ? "Expected text without NUL" : undefined)),
)
const Value = Schema.String.check(wellFormed(mostValueBytes))

export const HttpRequest = Schema.Struct({
  url: Schema.String.check(Schema.isMaxLength(longestUrl)),
  method: Schema.optionalKey(Schema.Literals(methods)),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  body: Schema.optionalKey(Schema.String),
  timeoutMs: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: longestRequest }))),
})
export type HttpRequest = typeof HttpRequest.Type

export const KvRequest = Schema.Union([
  Schema.Struct({ do: Schema.Literal("get"), key: Key }),
  Schema.Struct({
    do: Schema.Literal("set"),
    key: Key,
    value: Value,
    /** Only where the value is this one; null: only where there is none. */
    if: Schema.optionalKey(Schema.NullOr(Value)),
  }),
  Schema.Struct({ do: Schema.Literal("delete"), key: Key }),
])
export type KvRequest = typeof KvRequest.Type

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** What is no UTF-8 in it is replaced. */
  readonly body: string
}

/** `get`: the value, or null. `set` and `delete`: was it done? */
export type KvAnswer = { readonly value: string | null } | { readonly done: boolean }

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Failure: what is wrong with the request. */
export const readRequest = <T>(schema: Schema.Codec<T, unknown>, bytes: Uint8Array): Result.Result<T, string> => {
  const text = Result.try({ try: () => utf8.decode(bytes), catch: () => "The request is not UTF-8." })
  const json = Result.flatMap(text, (given) =>
    Result.try({ try: (): unknown => JSON.parse(given), catch: () => "The request is not JSON." }),
  )
  return Result.flatMap(json, (value) =>
    Result.mapError(
      Schema.decodeUnknownResult(schema)(value, { onExcessProperty: "error" }),
      (error) => `The request is not valid: ${error.message.slice(0, 300)}`,
    ),
  )
}
