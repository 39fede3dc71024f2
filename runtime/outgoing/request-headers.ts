/** Headers that whoever asks may send: none that decides how the request is framed, routed, or on whose behalf it is made by cookies. Pure. */
import { Result } from "effect"
import { type OutgoingRefused, refuse } from "#runtime/outgoing/refused.ts"

export type Headers = Readonly<Record<string, string>>

/** What every site sees: no version, nothing of the machine. */
export const userAgent = "svc"

const mostHeaders = 32
const mostHeaderBytes = 8_192
const nameForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/
/** Visible ASCII, with spaces and tabs within. */
const valueForm = /^[\t\x20-\x7e]*$/

const ours = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "cookie",
  "cookie2",
  "expect",
  "forwarded",
  "host",
  "http2-settings",
  "keep-alive",
  "origin",
  "referer",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
  "via",
])
const ourPrefixes = ["proxy-", "sec-", "x-forwarded-"]

/** By small letters. */
export const checkedHeaders = (given: Headers): Result.Result<Headers, OutgoingRefused> => {
  const entries = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const)
  if (entries.length > mostHeaders) return no(`at most ${mostHeaders} headers can be sent`)
  const bytes = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (bytes > mostHeaderBytes) return no(`the headers have at most ${mostHeaderBytes} characters together`)
  const seen = new Set<string>()
  for (const [name, value] of entries) {
    if (!nameForm.test(name)) return no("the name of a header has characters that cannot be sent")
    if (ours.has(name) || ourPrefixes.some((prefix) => name.startsWith(prefix))) return no(`${name} cannot be set`)
    if (!valueForm.test(value)) return no(`${name} has characters that cannot be sent`)
    if (seen.has(name)) return no(`${name} is there twice`)
    seen.add(name)
  }
  return Result.succeed(Object.fromEntries(entries))
}

const no = (message: string) => Result.fail(refuse("header", `The request is not sent: ${message}.`))
