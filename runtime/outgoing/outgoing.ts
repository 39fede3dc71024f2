/**
 * Fetches what is not the operator's own configuration: links, imports, metadata, whatever a plugin or an agent asks for.
 *
 * Nothing but public addresses is ever connected to, by a name that is resolved once for each request, also after every redirect;
 * size and time of the whole are bounded. It keeps no cookie and no connection, and knows no proxy. It does not retry.
 */
import { Context, Duration, Effect, Layer, Result, Semaphore } from "effect"
import { type Answer, exchange } from "#runtime/outgoing/exchange.ts"
import { failed, type OutgoingFailed, type OutgoingRefused, refuse } from "#runtime/outgoing/refused.ts"
import { checkedHeaders, type Headers } from "#runtime/outgoing/request-headers.ts"
import { addressesOf, type Permitted, type Resolver, systemResolver } from "#runtime/outgoing/resolve.ts"
import { type Rules, type Target, targetOf } from "#runtime/outgoing/target.ts"

export const methods = ["GET", "HEAD", "POST"] as const
export type Method = (typeof methods)[number]

export interface OutgoingRequest extends Rules {
  readonly url: string
  /** Absent: GET. */
  readonly method?: Method
  /** Methods that this caller may use. Absent: GET and HEAD. */
  readonly methods?: ReadonlyArray<Method>
  readonly headers?: Headers
  /** Of a POST. */
  readonly body?: Uint8Array
  /** Bytes of the answer at most. Absent: 1 MiB. */
  readonly mostBytes?: number
  /** An answer that is larger is cut, instead of being a failure. */
  readonly cut?: boolean
  /** Of the whole, waiting and redirects included. Absent: 10 s. */
  readonly timeLimit?: Duration.Duration
  /** Redirects that are followed, each checked like the first URL. Absent: none, a redirect is an answer like any other. */
  readonly redirects?: number
}

export interface OutgoingAnswer extends Answer {
  /** Where the answer came from, after all redirects. */
  readonly url: string
}

type OutgoingError = OutgoingRefused | OutgoingFailed
export type Fetch = (request: OutgoingRequest) => Effect.Effect<OutgoingAnswer, OutgoingError>

export interface OutgoingOptions {
  readonly resolver?: Resolver
  /** Addresses that are not public and may be called: of the operator, or of a test. */
  readonly permitted?: ReadonlyArray<Permitted>
  /** PEM of certificates that are trusted instead of those that Node brings. */
  readonly trusted?: ReadonlyArray<string>
}

const defaultBytes = 1_024 * 1_024
const defaultTimeLimit = Duration.seconds(10)
/** Requests of one client at the same time; others wait, within their time. */
const atOnce = 32

export class Outgoing extends Context.Service<Outgoing, { readonly fetch: Fetch }>()("runtime/Outgoing") {
  static readonly layer: Layer.Layer<Outgoing> = Layer.sync(Outgoing, () => makeOutgoing())
  static readonly layerWith = (options: OutgoingOptions): Layer.Layer<Outgoing> =>
    Layer.sync(Outgoing, () => makeOutgoing(options))
}

export const makeOutgoing = (options: OutgoingOptions = {}): Outgoing["Service"] => {
  const places = Semaphore.makeUnsafe(atOnce)
  return {
    fetch: Effect.fn("Outgoing.fetch")(function* (request: OutgoingRequest) {
      const timeLimit = request.timeLimit ?? defaultTimeLimit
      const target = yield* Effect.fromResult(targetOf(request.url, request))
      const headers = yield* Effect.fromResult(checkedHeaders(request.headers ?? {}))
      yield* checkMethod(request)
      return yield* follow(options, request, target, headers).pipe(
        places.withPermit,
        Effect.timeoutOrElse({
          duration: timeLimit,
          orElse: () =>
            failed("timed_out", `${target.host} gave no whole answer in ${Duration.toMillis(timeLimit)} ms.`),
        }),
      )
    }),
  }
}

const checkMethod = ({ method = "GET", methods: allowed = ["GET", "HEAD"], body }: OutgoingRequest) => {
  if (!allowed.includes(method)) return refuse("method", `The method is one of ${allowed.join(", ")}, not ${method}.`)
  if (body !== undefined && method !== "POST") return refuse("body", `A request with ${method} has no body.`)
  return Effect.void
}

const redirections = new Set([301, 302, 303, 307, 308])

const follow = Effect.fnUntraced(function* (
  { resolver = systemResolver, permitted = [], trusted = [] }: OutgoingOptions,
  request: OutgoingRequest,
  first: Target,
  headers: Headers,
): Effect.fn.Return<OutgoingAnswer, OutgoingError> {
  const { method = "GET", body, mostBytes = defaultBytes, cut = false, redirects = 0 } = request
  let target = first
  for (let followed = 0; ; followed++) {
    const answer = yield* exchange({
      target,
      addresses: yield* addressesOf(target, resolver, permitted),
      method,
      // what was meant for one host is not for another
      headers: target.url.origin === first.url.origin ? headers : onlyAccept(headers),
      body,
      mostBytes,
      cut,
      trusted,
    })
    const { location } = answer.headers
    // a body is never sent a second time
    const leads = redirects > 0 && method !== "POST" && redirections.has(answer.status) && location !== undefined
    if (!leads) return { ...answer, url: target.url.href }
    if (followed === redirects) {
      return yield* failed("redirects", `${first.host} leads on more than ${redirects} times.`)
    }
    target = yield* Effect.fromResult(next(target, location, request))
  }
})

const onlyAccept = ({ accept }: Headers): Headers => (accept === undefined ? {} : { accept })

const next = (from: Target, location: string, rules: Rules): Result.Result<Target, OutgoingRefused> => {
  const url = URL.parse(location, from.url.href)
  const where = `${from.host} leads elsewhere`
  if (url === null) return Result.fail(refuse("url", `${where}, and not to a URL.`))
  if (from.url.protocol === "https:" && url.protocol === "http:") {
    return Result.fail(refuse("scheme", `${where}, to an address without encryption.`))
  }
  return Result.mapError(targetOf(url.href, rules), ({ reason, message }) => refuse(reason, `${where}. ${message}`))
}
