/**
 * Reads a request's body, never more of it than its route allows: a length that is too large is refused
 * before a byte is read, and a body that turns out larger than it said while it is read.
 */
import type { IncomingMessage } from "node:http"
import { Effect } from "effect"
import { type Refusal, refuse } from "#core/refusal.ts"

/** `incoming` is there when the request came over a socket. */
export const readBody = (
  request: Request,
  limit: number,
  incoming: IncomingMessage | undefined,
): Effect.Effect<Uint8Array, Refusal> =>
  Effect.gen(function* () {
    const encoding = request.headers.get("content-encoding")
    if (encoding !== null && encoding.toLowerCase() !== "identity") return yield* refuse("unsupported_media_type")
    const length = request.headers.get("content-length")
    if (length !== null && Number(length) > limit) return yield* tooLarge(limit)
    const bytes = yield* Effect.tryPromise({
      // Over a socket the parser of node:http holds a body to its content-length, so it may be read in one go.
      try: () => (incoming !== undefined && length !== null ? whole(request) : pieces(request, limit)),
      catch: () => refuse("bad_request", { message: "The body ended before it was complete." }),
    })
    return bytes === undefined ? yield* tooLarge(limit) : bytes
  })

const tooLarge = (limit: number) =>
  refuse("payload_too_large", { message: `The body is too large; at most ${limit} bytes are read.`, extra: { limit } })

const whole = async (request: Request): Promise<Uint8Array> => new Uint8Array(await request.arrayBuffer())

/** Undefined: there was more than `limit`; the rest was not read. */
const pieces = async (request: Request, limit: number): Promise<Uint8Array | undefined> => {
  const reader = request.body?.getReader()
  if (reader === undefined) return new Uint8Array()
  const chunks: Array<Uint8Array> = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return Buffer.concat(chunks)
    size += value.byteLength
    if (size > limit) {
      reader.cancel().catch(() => {})
      return undefined
    }
    chunks.push(value)
  }
}

const jsonType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

/** Is the body said to be JSON in UTF-8? */
export const isJson = (request: Request): boolean => jsonType.test(request.headers.get("content-type") ?? "")
