/** Puts the hunks of an update into a text. Pure. */
import type { Hunk } from "#sandbox-agent/turn/patch/parse.ts"

export type Applied = { readonly text: string } | { readonly problem: string }

/** How alike lines have to be, from strict to lenient: the first way that finds the place wins. */
const ways: ReadonlyArray<(line: string) => string> = [(line) => line, (line) => line.trimEnd(), (line) => line.trim()]

/** Comparisons of two lines for all hunks of one file: seconds at most, whatever the patch is made of. */
const maxComparisons = 20_000_000

/** Lines of a hunk that are shown when it does not fit. */
const shownLines = 8

export const applyHunks = (path: string, text: string, hunks: ReadonlyArray<Hunk>): Applied => {
  const windows = text.includes("\r\n")
  const lines = (windows ? text.replaceAll("\r\n", "\n") : text).split("\n")
  // a text that ends with a line end has no last line; an empty one has none at all
  const ended = lines.at(-1) === ""
  if (ended) lines.pop()
  const sought: Sought = { lines, comparisons: 0 }
  const made: Array<string> = []
  let done = 0
  for (const [index, hunk] of hunks.entries()) {
    const from = hunk.anchor === undefined ? done : after(sought, hunk.anchor, done)
    const at = from === undefined ? undefined : placeOf(sought, hunk, from)
    if (sought.comparisons > maxComparisons) {
      return { problem: `${path}: the patch takes too long to fit; write the file as a whole, or make smaller patches` }
    }
    if (at === undefined) return { problem: doesNotFit(path, hunk, index, hunks.length) }
    for (; done < at; done += 1) made.push(lines[done] ?? "")
    for (const line of hunk.after) made.push(line)
    done = at + hunk.before.length
  }
  for (; done < lines.length; done += 1) made.push(lines[done] ?? "")
  const joined = made.join("\n") + (made.length > 0 && (ended || lines.length === 0) ? "\n" : "")
  return { text: windows ? joined.replaceAll("\n", "\r\n") : joined }
}

interface Sought {
  readonly lines: ReadonlyArray<string>
  comparisons: number
}

/** The place behind the line of the anchor. */
const after = (sought: Sought, anchor: string, from: number): number | undefined => {
  const at = find(sought, [anchor], from)
  return at === undefined ? undefined : at + 1
}

const placeOf = (sought: Sought, { before, atEnd, anchor }: Hunk, from: number): number | undefined => {
  const { length } = sought.lines
  if (before.length === 0) return anchor === undefined || atEnd ? length : from
  if (!atEnd) return find(sought, before, from)
  const last = length - before.length
  return last < from ? undefined : find(sought, before, last)
}

const find = (sought: Sought, wanted: ReadonlyArray<string>, from: number): number | undefined => {
  const { lines } = sought
  for (const way of ways) {
    const alike = wanted.map(way)
    for (let at = from; at + alike.length <= lines.length; at += 1) {
      if (sought.comparisons > maxComparisons) return undefined
      const different = alike.findIndex((line, index) => way(lines[at + index] ?? "") !== line)
      sought.comparisons += different < 0 ? alike.length : different + 1
      if (different < 0) return at
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
