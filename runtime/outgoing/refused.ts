/**
 * Why something was not fetched. `OutgoingRefused`: it may not be fetched, and asking again changes nothing. `OutgoingFailed`: it was
 * tried. Messages are for people and models: they name hosts, never a path, a query, a header or an address that a name resolved to.
 */
import { Schema } from "effect"

export const refusals = [
  /** No URL, or one too long. */
  "url",
  "scheme",
  /** A name or password within the URL. */
  "userinfo",
  "port",
  /** A name of this machine or of the network around it. */
  "host",
  /** Not among the origins that may be called. */
  "origin",
  /** It is, or resolves to, an address that is not public. */
  "address",
  "method",
  "header",
  "body",
] as const

export const failures = [
  "name_not_found",
  "unreachable",
  /** The certificate does not fit the name, or nobody who is trusted signed it. */
  "tls",
  "timed_out",
  "too_large",
  /** Compressed in a way that was not asked for, or badly. */
  "encoding",
  "redirects",
  /** Whatever answered does not speak HTTP. */
  "protocol",
] as const

export class OutgoingRefused extends Schema.TaggedError<OutgoingRefused>()("OutgoingRefused", {
  reason: Schema.Literals(refusals),
  message: Schema.String,
}) {}

export class OutgoingFailed extends Schema.TaggedError<OutgoingFailed>()("OutgoingFailed", {
  reason: Schema.Literals(failures),
  message: Schema.String,
}) {}

export const refuse = (reason: OutgoingRefused["reason"], message: string): OutgoingRefused =>
  new OutgoingRefused({ reason, message })

export const failed = (reason: OutgoingFailed["reason"], message: string): OutgoingFailed =>
  new OutgoingFailed({ reason, message })
