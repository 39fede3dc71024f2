/**
 * What node:http accepts and two programs could read differently is refused before anything else is
 * looked at: a second Host, a target that is not in origin form, too many or too long headers. Also the
 * methods that no resource has, and hosts that the service does not answer for.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { type Refusal, type RefusalCode, refuse } from "#core/refusal.ts"
import { securityHeaders } from "#gateway/headers.ts"
import { renderRefusal } from "#gateway/render.ts"

/** Bytes of all headers together; node:http refuses more while it reads them. */
export const maxHeaderBytes = 16_384
/** Header lines. */
const maxHeaderLines = 100
/** Bytes of the request target. */
const maxTargetBytes = 8_192

const allowedMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
const allow = [...allowedMethods].join(", ")

const hostForm = /^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/
/** Visible ASCII; in the path, nothing that a URL parser would rewrite. */
const targetForm = /^\/[!$-;=@-Z[\]^-~]*(?:\?[!-~]*)?$/

/** Names without ports, lower case; empty allows any. */
export type AllowedHosts = ReadonlySet<string>

export const allowedHostsOf = (names: ReadonlyArray<string>): AllowedHosts =>
  new Set(names.map((name) => nameOf(name.toLowerCase())))

/** Without port and brackets: `[::1]:5000` and `::1` are one name. */
const nameOf = (host: string): string => {
  const bracketed = /^\[(.*)\]/.exec(host)?.[1]
  if (bracketed !== undefined) return bracketed
  return host.indexOf(":") === host.lastIndexOf(":") ? host.replace(/:\d*$/, "") : host
}

/** What is wrong with the head of a request; undefined for a sound one. */
export const framingProblem = (incoming: IncomingMessage, hosts: AllowedHosts): Refusal | undefined => {
  const { url: target = "", method = "", rawHeaders } = incoming
  if (target.length > maxTargetBytes) return refuse("uri_too_long", { message: `At most ${maxTargetBytes} bytes.` })
  if (rawHeaders.length / 2 > maxHeaderLines) {
    return refuse("headers_too_large", { message: `At most ${maxHeaderLines} header lines are read.` })
  }
  if (!targetForm.test(target)) {
    return refuse("bad_request", { message: "The request target must be a path in visible ASCII, in origin form." })
  }
  const sent = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "host")
  const [host = ""] = sent
  const [matched, port = "0"] = hostForm.exec(host) ?? []
  if (sent.length !== 1 || matched === undefined || Number(port) > 65_535) {
    return refuse("bad_request", { message: "Exactly one valid Host header is expected." })
  }
  if (!allowedMethods.has(method)) return refuse("method_not_allowed", { message: `This service answers ${allow}.` })
  return hosts.size === 0 || hosts.has(nameOf(host.toLowerCase())) ? undefined : refuse("misdirected_request")
}

/** Answers a request that goes no further, and ends its connection. */
export const turnAway = (outgoing: ServerResponse, refusal: Refusal): void => {
  const { status, body, headers } = renderRefusal(refusal)
  outgoing.writeHead(status, {
    ...securityHeaders,
    ...headers,
    ...(status === 405 ? { allow } : {}),
    "x-request-id": crypto.randomUUID(),
    connection: "close",
  })
  outgoing.end(body)
}

/** What node:http could not even parse. The codes are those of its parser. */
const unparsed = (code: string | undefined): RefusalCode =>
  code === "HPE_HEADER_OVERFLOW"
    ? "headers_too_large"
    : code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? "request_timeout"
      : "bad_request"

const reasons: Readonly<Record<number, string>> = {
  400: "Bad Request",
  405: "Method Not Allowed",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
}

/** The same for a connection on which there is no request to answer. */
export const turnAwaySocket = (socket: Duplex, error: NodeJS.ErrnoException): void => {
  if (socket.destroyed || !socket.writable || error.code === "ECONNRESET") return void socket.destroy()
  writeRefusal(socket, refuse(unparsed(error.code)))
}

/** CONNECT never becomes a request; it is told so and cut. */
export const turnAwayConnect = (socket: Duplex): void => {
  socket.on("error", () => socket.destroy())
  writeRefusal(socket, refuse("method_not_allowed"))
}

const writeRefusal = (socket: Duplex, refusal: Refusal): void => {
  const { status, body, headers } = renderRefusal(refusal)
  const text = String(body)
  const lines = Object.entries({
    ...securityHeaders,
    ...headers,
    ...(status === 405 ? { allow } : {}),
    "content-length": String(Buffer.byteLength(text)),
    connection: "close",
  })
  const head = [`HTTP/1.1 ${status} ${reasons[status] ?? ""}`, ...lines.map(([name, value]) => `${name}: ${value}`)]
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`)
}
