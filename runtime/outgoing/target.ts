/** What of a URL may be fetched, as far as the URL itself tells it: scheme, host, port. Its address is looked at when it is resolved. Pure. */
import { Result } from "effect"
import { isAddress } from "#runtime/outgoing/address.ts"
import { type OutgoingRefused, refuse } from "#runtime/outgoing/refused.ts"

export interface Rules {
  /** `http:` has to be allowed. Absent: `https:` only. */
  readonly schemes?: ReadonlyArray<"https:" | "http:">
  /** Nothing but these: `https://api.example.com`, `https://api.example.com:8443`. Absent: any public one. */
  readonly origins?: ReadonlyArray<string>
  /** Beside the scheme's own, and those that `origins` name. */
  readonly ports?: ReadonlyArray<number>
}

export interface Target {
  /** Normalised, without a fragment. */
  readonly url: URL
  /** A name, or an address without brackets. */
  readonly host: string
  readonly port: number
  readonly isAddress: boolean
}

export const longestUrl = 2_048

const portOf = { "https:": 443, "http:": 80 } as const
type Scheme = keyof typeof portOf

const isScheme = (protocol: string): protocol is Scheme => Object.hasOwn(portOf, protocol)

/** What the standard of URLs leaves of a name's spelling: letters, digits, dashes; two labels at least. */
const nameForm = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+(?:[a-z]|[a-z][a-z0-9-]{0,61}[a-z0-9])$/
/** Ends of names that are never public. */
const localEnds = [".localhost", ".local", ".localdomain", ".internal", ".intranet", ".home.arpa", ".onion", ".arpa"]

export const targetOf = (
  text: string,
  { schemes = ["https:"], origins, ports = [] }: Rules = {},
): Result.Result<Target, OutgoingRefused> => {
  if (text.length > longestUrl) return no("url", `A URL has at most ${longestUrl} characters.`)
  const url = URL.parse(text)
  if (url === null) return no("url", "This is no URL, such as https://example.com/page.")
  const { protocol } = url
  if (!isScheme(protocol) || !schemes.includes(protocol)) {
    return no("scheme", `Only ${schemes.join(" and ")} can be fetched, not ${protocol.slice(0, 20)}`)
  }
  if (url.username !== "" || url.password !== "")
    return no("userinfo", "A URL must not hold a user's name or password.")
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname
  if (!isAddress(host)) {
    const shown = host.slice(0, 100)
    if (!nameForm.test(host)) return no("host", `${shown} is not the full name of a public host.`)
    if (localEnds.some((end) => host.endsWith(end))) return no("host", `${shown} is a name within a network.`)
  }
  const port = url.port === "" ? portOf[protocol] : Number(url.port)
  const named = origins?.some((origin) => URL.parse(origin)?.origin === url.origin)
  if (named === false) return no("origin", `${url.origin} is not among the origins that may be called.`)
  if (named !== true && url.port !== "" && !ports.includes(port)) {
    return no("port", `The port ${port} is not one of those that may be called.`)
  }
  url.hash = ""
  return Result.succeed({ url, host, port, isAddress: isAddress(host) })
}

const no = (reason: OutgoingRefused["reason"], message: string) => Result.fail(refuse(reason, message))
