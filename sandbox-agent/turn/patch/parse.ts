/**
 * Reads a patch of the form that models are taught: `*** Begin Patch`, sections for files to add, update, move or
 * delete, `*** End Patch`. Lines are found by their text, not by number.
 */

/** Lines that are taken away where they are found, and what takes their place. Context lines are in both. */
export interface Hunk {
  /** The line of the patch that it begins at, from 1. */
  readonly line: number
  /** What stands behind `@@`: a line that the hunk comes after. */
  readonly anchor: string | undefined
  readonly before: ReadonlyArray<string>
  readonly after: ReadonlyArray<string>
  /** The hunk ends where the file ends. */
  readonly atEnd: boolean
}

export type Section =
  | { readonly kind: "add"; readonly path: string; readonly text: string }
  | { readonly kind: "delete"; readonly path: string }
  | {
      readonly kind: "update"
      readonly path: string
      readonly moveTo: string | undefined
      readonly hunks: ReadonlyArray<Hunk>
    }

export type Parsed =
  | { readonly sections: ReadonlyArray<Section> }
  /** `line` of the patch, from 1. */
  | { readonly problem: string; readonly line: number }

/** Bytes of a patch. */
export const maxPatchBytes = 4_194_304

const begin = "*** Begin Patch"
const end = "*** End Patch"
const endOfFile = "*** End of File"
const header = /^\*\*\* (Add|Delete|Update) File: (.+)$/
const move = /^\*\*\* Move to: (.+)$/

export const parsePatch = (patch: string): Parsed => {
  const lines = patch.replaceAll("\r\n", "\n").split("\n")
  while (lines.at(-1)?.trim() === "") lines.pop()
  const first = lines.findIndex((line) => line.trim() !== "")
  if (lines[first]?.trim() !== begin) return { problem: `The first line has to be "${begin}".`, line: first + 1 }
  if (lines.at(-1)?.trim() !== end) return { problem: `The last line has to be "${end}".`, line: lines.length }
  const sections: Array<Section> = []
  const until = lines.length - 1
  let at = first + 1
  while (at < until) {
    const line = lines[at] ?? ""
    const found = header.exec(line)
    if (found === null) {
      if (line.trim() === "") {
        at += 1
        continue
      }
      return { problem: `Expected "*** Add File: ", "*** Update File: " or "*** Delete File: ".`, line: at + 1 }
    }
    const from = at + 1
    at = from
    while (at < until && !header.test(lines[at] ?? "")) at += 1
    const section = readSection(found[1] ?? "", (found[2] ?? "").trim(), lines.slice(from, at), from + 1)
    if ("problem" in section) return section
    sections.push(section)
  }
  return sections.length === 0 ? { problem: "The patch changes nothing.", line: 1 } : { sections }
}

type Problem = { readonly problem: string; readonly line: number }

/** `line`: of the patch, for the first of `lines`. */
const readSection = (kind: string, path: string, lines: ReadonlyArray<string>, line: number): Section | Problem => {
  switch (kind) {
    case "Add":
      return readAdd(path, lines, line)
    case "Delete": {
      const more = lines.findIndex((text) => text.trim() !== "")
      return more < 0 ? { kind: "delete", path } : { problem: "A file to delete has no lines.", line: line + more }
    }
    default:
      return readUpdate(path, lines, line)
  }
}

const readAdd = (path: string, lines: ReadonlyArray<string>, line: number): Section | Problem => {
  const body = [...lines]
  while (body.at(-1) === "") body.pop()
  const wrong = body.findIndex((text) => !text.startsWith("+"))
  if (wrong >= 0) return { problem: "Every line of a file to add begins with +.", line: line + wrong }
  return { kind: "add", path, text: body.map((text) => `${text.slice(1)}\n`).join("") }
}

const readUpdate = (path: string, lines: ReadonlyArray<string>, line: number): Section | Problem => {
  const moveTo = move.exec(lines[0] ?? "")?.[1]?.trim()
  const start = moveTo === undefined ? 0 : 1
  const hunks: Array<Hunk> = []
  let open = emptyHunk(line + start)
  const close = (): void => {
    if (open.before.length > 0 || open.after.length > 0) hunks.push(open)
  }
  for (let at = start; at < lines.length; at += 1) {
    const text = lines[at] ?? ""
    const here = line + at
    if (text === "@@" || text.startsWith("@@ ")) {
      close()
      open = { ...emptyHunk(here), anchor: text.slice(3).trim() === "" ? undefined : text.slice(3) }
    } else if (text.trimEnd() === endOfFile) {
      close()
      const last = hunks.pop()
      if (last === undefined) return { problem: `"${endOfFile}" comes after the lines of a hunk.`, line: here }
      hunks.push({ ...last, atEnd: true })
      open = emptyHunk(here + 1)
    } else if (text === "" && lines.slice(at).every((rest) => rest === "")) {
      break
    } else if (!addLine(open, text)) {
      return { problem: 'A line of a hunk begins with a space, "+" or "-".', line: here }
    }
  }
  close()
  if (hunks.length === 0 && moveTo === undefined) return { problem: `${path}: the update has no hunks.`, line }
  return { kind: "update", path, moveTo, hunks }
}

interface OpenHunk extends Hunk {
  readonly before: Array<string>
  readonly after: Array<string>
}

const emptyHunk = (line: number): OpenHunk => ({ line, anchor: undefined, before: [], after: [], atEnd: false })

/** An empty line is one of context: models leave the space out. */
const addLine = (hunk: OpenHunk, text: string): boolean => {
  const mark = text[0] ?? " "
  if (mark !== " " && mark !== "+" && mark !== "-") return false
  if (mark !== "+") hunk.before.push(text.slice(1))
  if (mark !== "-") hunk.after.push(text.slice(1))
  return true
}
