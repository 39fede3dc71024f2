/** Puts the hunks of an update into a text. Pure. */
import type { Hunk } from "#sandbox-agent/turn/patch/parse.ts"

export type Applied = { readonly text: string } | { readonly problem: string }

/** How alike lines have to be, from strict to lenient: the first way that finds the place wins. */
const ways: ReadonlyArray<(line: string) => string> = [(line) => line, (line) => line.trimEnd(), (line) => line.trim()]

/** Lines of a hunk that are shown when it does not fit. */
const shownLines = 8

export const applyHunks = (path: string, text: string, hunks: ReadonlyArray<Hunk>): Applied => {
  const windows = text.includes("\r\n")
  const lines = (windows ? text.replaceAll("\r\n", "\n") : text).split("\n")
  // a text that ends with a line end has no last line; an empty one has none at all
  const ended = lines.at(-1) === ""
  if (ended) lines.pop()
  const made: Array<string> = []
  let done = 0
  for (const [index, hunk] of hunks.entries()) {
    const from = hunk.anchor === undefined ? done : after(lines, hunk.anchor, done)
    const at = from === undefined ? undefined : placeOf(lines, hunk, from)
    if (at === undefined) return { problem: doesNotFit(path, hunk, index, hunks.length) }
    made.push(...lines.slice(done, at), ...hunk.after)
    done = at + hunk.before.length
  }
  made.push(...lines.slice(done))
  const joined = made.join("\n") + (made.length > 0 && (ended || lines.length === 0) ? "\n" : "")
  return { text: windows ? joined.replaceAll("\n", "\r\n") : joined }
}

/** The place behind the line of the anchor. */
const after = (lines: ReadonlyArray<string>, anchor: string, from: number): number | undefined => {
  const at = find(lines, [anchor], from)
  return at === undefined ? undefined : at + 1
}

const placeOf = (lines: ReadonlyArray<string>, { before, atEnd, anchor }: Hunk, from: number): number | undefined => {
  if (before.length === 0) return anchor === undefined || atEnd ? lines.length : from
  if (!atEnd) return find(lines, before, from)
  const last = lines.length - before.length
  return last < from ? undefined : find(lines.slice(0, lines.length), before, last)
}

const find = (lines: ReadonlyArray<string>, wanted: ReadonlyArray<string>, from: number): number | undefined => {
  for (const way of ways) {
    const sought = wanted.map(way)
    for (let at = from; at + sought.length <= lines.length; at += 1) {
      if (sought.every((line, index) => way(lines[at + index] ?? "") === line)) return at
    }
  }
  return undefined
}

const doesNotFit = (path: string, hunk: Hunk, index: number, of: number): string => {
  const anchored = hunk.anchor === undefined ? "" : ` after the line ${JSON.stringify(hunk.anchor)}`
  const more = hunk.before.length > shownLines ? `\n… and ${hunk.before.length - shownLines} more lines` : ""
  const sought = hunk.before.slice(0, shownLines).join("\n")
  return `${path}: hunk ${index + 1} of ${of} (line ${hunk.line} of the patch) does not match: these lines are not found${anchored}${index > 0 ? ", below the hunk before it" : ""}:\n${sought}${more}`
}
