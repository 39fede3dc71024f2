/**
 * Does one side of a conflict hold every change of the other? Both are the changes of one file against the same base,
 * line by line. Pure, and strict: where it could be a coincidence there is no evidence.
 */

/** Lines that stand together and were exchanged. Each line has its line feed; the last of a file may have none. */
export interface Hunk {
  /** Lines of the base before it. */
  readonly start: number
  readonly removed: ReadonlyArray<string>
  readonly added: ReadonlyArray<string>
}

/** Lines that a side may have changed. */
const maxChangedLines = 10_000

const header = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/

/** The hunks of a unified diff of one file, without context. Undefined: it is binary, or too long to be evidence. */
export const hunksIn = (diff: string): ReadonlyArray<Hunk> | undefined => {
  if (diff.includes("\0")) return undefined
  const lines = diff.split("\n")
  const hunks: Array<Hunk> = []
  let changed = 0
  let at = lines.findIndex((line) => header.test(line))
  if (at < 0) return undefined
  const take = (sign: "-" | "+", count: number): ReadonlyArray<string> | undefined => {
    const taken: Array<string> = []
    for (; taken.length < count; at++) {
      const line = lines[at]
      if (line?.[0] !== sign) return undefined
      taken.push(`${line.slice(1)}\n`)
    }
    const last = taken.at(-1)
    if (last !== undefined && lines[at]?.[0] === "\\") {
      taken[taken.length - 1] = last.slice(0, -1)
      at++
    }
    return taken
  }
  while (at < lines.length - 1) {
    const found = header.exec(lines[at++] ?? "")
    if (found === null) return undefined
    const [, from, less = "1", more = "1"] = found
    changed += Number(less) + Number(more)
    if (changed > maxChangedLines) return undefined
    const removed = take("-", Number(less))
    const added = take("+", Number(more))
    if (removed === undefined || added === undefined) return undefined
    // where nothing is removed git names the line before it
    hunks.push({ start: Number(from) - (removed.length === 0 ? 0 : 1), removed, added })
  }
  return hunks
}

/**
 * True where each hunk of `ours` is at the same place in `theirs`: the same lines of the base are gone, the same lines
 * are there, together and in their order, and nothing that `ours` took away is put back anywhere. Both in order.
 */
export const holdsEvery = (theirs: ReadonlyArray<Hunk>, ours: ReadonlyArray<Hunk>): boolean => {
  let place = 0
  let line = 0
  for (const hunk of ours) {
    while (place < theirs.length && endOf(theirs[place]) < hunk.start + hunk.removed.length) {
      place++
      line = 0
    }
    const holder = theirs[place]
    if (holder === undefined || holder.start > hunk.start) return false
    const found = isSame(holder, hunk) ? 0 : hasSubstance(hunk) ? indexOf(holder.added, hunk.added, line) : -1
    if (found < 0) return false
    line = found + hunk.added.length
  }
  return nothingIsPutBack(theirs, ours)
}

const endOf = (hunk: Hunk | undefined): number => (hunk === undefined ? 0 : hunk.start + hunk.removed.length)

const isEqual = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.length === other.length && one.every((line, index) => line === other[index])

const isSame = (one: Hunk, other: Hunk): boolean =>
  one.start === other.start && isEqual(one.removed, other.removed) && isEqual(one.added, other.added)

/** A blank line or a lone bracket is found anywhere. */
const says = (line: string): boolean => /[\p{L}\p{N}]/u.test(Buffer.from(line, "latin1").toString("utf8"))

const hasSubstance = ({ removed, added }: Hunk): boolean => (added.length > 0 ? added : removed).some(says)

/** Where `part` stands in `lines`, from `from` on; -1: nowhere. */
const indexOf = (lines: ReadonlyArray<string>, part: ReadonlyArray<string>, from: number): number => {
  for (let at = from; at + part.length <= lines.length; at++) {
    if (part.every((line, index) => line === lines[at + index])) return at
  }
  return -1
}

/** Of no line that `ours` took away are there more in `theirs` than in `ours`. */
const nothingIsPutBack = (theirs: ReadonlyArray<Hunk>, ours: ReadonlyArray<Hunk>): boolean => {
  const inOurs = balance(ours)
  const inTheirs = balance(theirs)
  return ours.every(({ removed }) =>
    removed.every((line) => !says(line) || (inTheirs.get(line) ?? 0) <= (inOurs.get(line) ?? 0)),
  )
}

/** How many more there are of each line than in the base. */
const balance = (hunks: ReadonlyArray<Hunk>): ReadonlyMap<string, number> => {
  const more = new Map<string, number>()
  for (const { removed, added } of hunks) {
    for (const line of removed) more.set(line, (more.get(line) ?? 0) - 1)
    for (const line of added) more.set(line, (more.get(line) ?? 0) + 1)
  }
  return more
}
