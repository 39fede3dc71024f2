/**
 * Takes secrets out of text that comes in pieces. What comes out does not depend on where the pieces were cut: it is
 * made line by line, and of a line that does not end, part by part. A private key is taken out over all its lines.
 */
import { personalIn } from "#core/redaction/personal.ts"
import { secretsIn } from "#core/redaction/secrets.ts"
import { mark, merged, type Span, without } from "#core/redaction/span.ts"

export interface RedactionOptions {
  /** E-mail and IP addresses as well. */
  readonly personal: boolean
}

export interface RedactingStream {
  /** The next piece; gives what is ready to be shown, which may be nothing yet. */
  readonly push: (piece: string) => string
  /** What was held back. Nothing can be pushed after it. */
  readonly end: () => string
}

/** Characters of an unfinished line that are looked at as one. */
const windowSize = 65_536
/** Characters at the end of such a part that are held back: longer than any secret that is not cut off as a whole. */
const heldBack = 8_192

const beginsKey = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?!.*-----END [A-Z ]{0,40}PRIVATE KEY-----)/
const endsKey = /-----END [A-Z ]{0,40}PRIVATE KEY-----/
/** A line inside of a private key: base64, a header, nothing; perhaps quoted, numbered, or the line of a diff. */
const insideKey =
  /^(?:.{0,256}[^A-Za-z0-9+/])?[A-Za-z0-9+/]{1,128}={0,2}(?:\\[rn])*["',+)]*\s*$|^\W*(?:Proc-Type|DEK-Info|Comment|Version|X-\w+):|^\W*$/
/** Lines that one private key has at most. */
const maxKeyLines = 400

export const redactingStream = ({ personal }: RedactionOptions): RedactingStream => {
  let pending = ""
  /** Lines that may still belong to a private key. */
  let keyLines = 0
  /** A secret without an end: the rest of the line goes with it. */
  let swallowing = false

  const spansOf = (text: string): ReadonlyArray<Span> =>
    merged([...secretsIn(text), ...(personal ? personalIn(text) : [])])

  /** A line, or the end of one, with what ends it. */
  const line = (text: string, ending: string): string => {
    if (swallowing) {
      swallowing = ending === ""
      return ending
    }
    if (keyLines > 0) {
      keyLines--
      const end = endsKey.exec(text)
      if (end !== null) {
        keyLines = 0
        // another key may begin behind it
        return mark + line(text.slice(end.index + end[0].length), ending)
      }
      if (insideKey.test(text)) return ""
      keyLines = 0
    }
    if (beginsKey.test(text)) keyLines = maxKeyLines
    return without(text, spansOf(text)) + ending
  }

  /** The first part of a line that has not ended. */
  const part = (text: string): { readonly shown: string; readonly rest: string } => {
    if (swallowing) return { shown: "", rest: "" }
    const spans = spansOf(text)
    const open = spans.find(({ start, end }) => start < text.length - heldBack && end === text.length)
    if (open !== undefined) {
      swallowing = true
      return {
        shown: without(
          text.slice(0, open.end),
          spans.filter(({ end }) => end <= open.end),
        ),
        rest: "",
      }
    }
    const cut = spans.reduce((at, { start, end }) => (start < at && end > at ? start : at), text.length - heldBack)
    return {
      shown: without(
        text.slice(0, cut),
        spans.filter(({ end }) => end <= cut),
      ),
      rest: text.slice(cut),
    }
  }

  const push = (piece: string): string => {
    pending += piece
    let shown = ""
    let from = 0
    while (true) {
      const rest = pending.slice(from, from + windowSize)
      const end = rest.search(/[\r\n]/)
      if (end >= 0) {
        shown += line(rest.slice(0, end), rest[end] ?? "")
        from += end + 1
      } else if (rest.length === windowSize) {
        const first = part(rest)
        shown += first.shown
        from += windowSize - first.rest.length
      } else break
    }
    pending = pending.slice(from)
    return shown
  }

  return {
    push,
    end: () => {
      const shown = pending === "" ? "" : line(pending, "")
      pending = ""
      return shown
    },
  }
}

/** The whole text at once; the same as a stream of any of its pieces. */
export const redactText = (text: string, options: RedactionOptions): string => {
  const stream = redactingStream(options)
  return stream.push(text) + stream.end()
}
