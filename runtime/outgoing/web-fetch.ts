/**
 * The text of a page, for an agent. What comes back is whatever somebody wrote on the internet: never an instruction, and to be marked
 * as such before a model sees it.
 */
import { Duration, Effect } from "effect"
import { htmlText } from "#runtime/outgoing/html-text.ts"
import { Outgoing, type OutgoingAnswer } from "#runtime/outgoing/outgoing.ts"
import { failed, type OutgoingFailed, type OutgoingRefused } from "#runtime/outgoing/refused.ts"
import type { Rules } from "#runtime/outgoing/target.ts"

export interface WebPage {
  readonly text: string
  /** As the host says it, in small letters and without parameters: `text/html`. */
  readonly contentType: string
  readonly status: number
  /** Where it came from, after redirects. */
  readonly url: string
  /** Something of the page is missing in the text. */
  readonly truncated: boolean
}

export interface WebFetchOptions {
  /** Absent: any public host, by https. */
  readonly rules?: Rules
  readonly timeLimit?: Duration.Duration
}

const mostBytes = 512 * 1_024
/** Bytes of UTF-8. */
const mostTextBytes = 64 * 1_024
const timeLimit = Duration.seconds(20)
const redirects = 5

export const webFetch = Effect.fn("webFetch")(function* (
  url: string,
  options: WebFetchOptions = {},
): Effect.fn.Return<WebPage, OutgoingRefused | OutgoingFailed, Outgoing> {
  const { fetch } = yield* Outgoing
  const answer = yield* fetch({
    ...options.rules,
    url,
    headers: { accept: "text/html, text/plain, text/markdown, application/json;q=0.9, text/*;q=0.8" },
    mostBytes,
    cut: true,
    redirects,
    timeLimit: options.timeLimit ?? timeLimit,
  })
  const [contentType = "", ...parameters] = (answer.headers["content-type"] ?? "text/plain")
    .split(";")
    .map((part) => part.trim().toLowerCase())
  if (!isText(contentType)) {
    return yield* failed("encoding", `The answer is no text but ${contentType.slice(0, 80)}.`)
  }
  const source = decoded(answer, parameters)
  const read = isHtml(contentType) ? htmlText(source) : source
  const text = cutTo(mostTextBytes, read)
  return {
    text,
    contentType,
    status: answer.status,
    url: answer.url,
    truncated: answer.truncated || text.length < read.length,
  }
})

const isHtml = (type: string): boolean => type === "text/html" || type === "application/xhtml+xml"

const isText = (type: string): boolean =>
  type.startsWith("text/") ||
  /^application\/(?:json|xml|xhtml\+xml|javascript|ecmascript|yaml|x-yaml|toml|sql|graphql|x-sh|x-ndjson)$/.test(
    type,
  ) ||
  /\+(?:json|xml|yaml)$/.test(type)

const decoded = ({ bytes }: OutgoingAnswer, parameters: ReadonlyArray<string>): string => {
  const charset = parameters.find((part) => part.startsWith("charset="))?.slice("charset=".length)
  return decoderFor(charset?.replace(/^"(.*)"$/, "$1") ?? "utf-8").decode(bytes)
}

/** UTF-8 where the name is unknown. */
const decoderFor = (label: string) => {
  try {
    return new TextDecoder(label)
  } catch (error) {
    if (error instanceof RangeError) return new TextDecoder()
    throw error
  }
}

/** At most so many bytes of UTF-8, and no half of a character. */
const cutTo = (most: number, text: string): string => {
  const into = new Uint8Array(most)
  const { read } = new TextEncoder().encodeInto(text, into)
  return text.slice(0, read)
}
