/**
 * One request and its answer, over one connection of its own to an address that was checked. No redirect, no cookie, no proxy of the
 * environment. The answer is read up to a size, counted before and after it is decompressed. Interrupting ends the connection.
 */
import { Transform } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createBrotliDecompress, createGunzip } from "node:zlib"
import { Effect } from "effect"
import { buildConnector, Client, type Dispatcher } from "undici"
import { normalAddress } from "#runtime/outgoing/address.ts"
import { failureOf } from "#runtime/outgoing/failure.ts"
import { failed, OutgoingFailed } from "#runtime/outgoing/refused.ts"
import { type Headers, userAgent } from "#runtime/outgoing/request-headers.ts"
import type { Target } from "#runtime/outgoing/target.ts"

export interface Exchange {
  readonly target: Target
  /** Checked. */
  readonly addresses: ReadonlyArray<string>
  readonly method: "GET" | "HEAD" | "POST"
  readonly headers: Headers
  readonly body: Uint8Array | undefined
  /** Bytes of the answer at most, before and after it is decompressed. */
  readonly mostBytes: number
  /** What is above is left out, instead of being a failure. */
  readonly cut: boolean
  /** PEM of certificates that are trusted beside those of Node. */
  readonly trusted: ReadonlyArray<string>
}

export interface Answer {
  readonly status: number
  /** By small letters; values of the same name joined by a comma. Without cookies and what concerns the connection alone. */
  readonly headers: Headers
  /** Decompressed. */
  readonly bytes: Uint8Array
  /** Something of the answer was left out. */
  readonly truncated: boolean
}

const mostAnswerHeaderBytes = 16 * 1_024
const encodings = "gzip, br"
const left = new Set([
  "connection",
  "content-encoding",
  "keep-alive",
  "proxy-authenticate",
  "set-cookie",
  "set-cookie2",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

export const exchange = (wanted: Exchange): Effect.Effect<Answer, OutgoingFailed> =>
  Effect.acquireUseRelease(
    Effect.sync(() => clientFor(wanted)),
    (client) =>
      Effect.tryPromise({
        try: (signal) => send(client, wanted, signal),
        catch: (error) => (error instanceof OutgoingFailed ? error : failureOf(error, wanted.target.host)),
      }),
    (client) => Effect.promise(() => client.destroy()),
  )

const clientFor = ({ target, addresses, trusted }: Exchange): Client => {
  const connect = buildConnector({
    // the time of the whole is the caller's
    timeout: 0,
    allowH2: false,
    // whatever the environment says
    rejectUnauthorized: true,
    maxCachedSessions: 0,
    autoSelectFamily: true,
    ...(trusted.length === 0 ? {} : { ca: [...trusted] }),
    lookup: (_, options, answer) => {
      const all = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
      const [first] = all
      if (options.all || first === undefined) answer(null, all)
      else answer(null, first.address, first.family)
    },
  })
  return new Client(target.url.origin, {
    connect: (options, done) =>
      connect(options, (...connected) => {
        const [error, socket] = connected
        if (error !== null) return done(error, null)
        const reached = socket.remoteAddress === undefined ? undefined : normalAddress(socket.remoteAddress)
        if (reached !== undefined && addresses.includes(reached)) return done(null, socket)
        socket.destroy()
        done(failed("unreachable", `${target.host} was reached at an address that was not checked.`), null)
      }),
    pipelining: 1,
    maxHeaderSize: mostAnswerHeaderBytes,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

const send = async (client: Client, wanted: Exchange, signal: AbortSignal): Promise<Answer> => {
  const { target, method, headers, body } = wanted
  const { url } = target
  const answer = await client.request({
    method,
    path: url.pathname + url.search,
    headers: { accept: "*/*", ...headers, "user-agent": userAgent, "accept-encoding": encodings },
    body: body ?? null,
    signal,
  })
  const kept = headersOf(answer.headers)
  const { bytes, truncated } = await read(answer, wanted, signal)
  return { status: answer.statusCode, headers: kept, bytes, truncated }
}

const headersOf = (given: Dispatcher.ResponseData["headers"]): Headers => {
  const kept: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined && !left.has(name)) kept[name] = typeof value === "string" ? value : value.join(", ")
  }
  return kept
}

const read = async (
  { headers, body }: Dispatcher.ResponseData,
  { method, mostBytes, cut, target }: Exchange,
  signal: AbortSignal,
): Promise<Pick<Answer, "bytes" | "truncated">> => {
  const chunks: Array<Buffer> = []
  let size = 0
  let over = false
  const tooLarge = failed("too_large", `The answer of ${target.host} has more than ${mostBytes} bytes.`)
  const collect = async (source: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of source) {
      const room = mostBytes - size
      chunks.push(chunk.subarray(0, room))
      size += Math.min(room, chunk.length)
      over = chunk.length > room
      if (over) throw tooLarge
    }
  }
  try {
    const decoder = method === "HEAD" ? undefined : decoderFor(headers["content-encoding"], target.host)
    if (decoder === undefined) await pipeline(body, collect, { signal })
    else await pipeline(body, counter(mostBytes, tooLarge), decoder, collect, { signal })
  } catch (error) {
    if (error !== tooLarge || !cut) throw error
    over = true
  }
  return { bytes: Buffer.concat(chunks), truncated: over }
}

/** What a host sends that is not decompressed yet counts as well. */
const counter = (most: number, tooLarge: OutgoingFailed): Transform => {
  let size = 0
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      size += chunk.length
      if (size > most) done(tooLarge)
      else done(null, chunk)
    },
  })
}

const decoderFor = (encoding: string | ReadonlyArray<string> | undefined, host: string): Transform | undefined => {
  switch (typeof encoding === "string" ? encoding.trim().toLowerCase() : encoding) {
    case undefined:
    case "":
    case "identity":
      return undefined
    case "gzip":
    case "x-gzip":
      return createGunzip()
    case "br":
      return createBrotliDecompress()
    default:
      throw failed("encoding", `${host} answered in an encoding that was not asked for.`)
  }
}
