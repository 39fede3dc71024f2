/** Patterns of models, as tests of a text: bounded in what they may cost. */
import { RE2JS } from "re2js"
import { FileRefused } from "#sandbox-agent/turn/files/refused.ts"
import { globTest } from "#sandbox-agent/turn/search/glob.ts"

/** Characters of a pattern. */
export const maxPattern = 1_000
/** Instructions that a regular expression may become: a short one that counts far becomes many. */
const maxProgram = 2_000
/** Characters of a line that are looked at; fewer where each of them costs more. */
const maxLine = 10_000
const maxCost = 1_000_000

export interface LineTest {
  readonly matches: (line: string) => boolean
}

/** Regular expressions are RE2's: time grows with the line, never with its power; no look-around, no back-references. */
export const lineTest = (pattern: string, isRegex: boolean): LineTest => {
  if (!isRegex) return { matches: (line) => line.slice(0, maxLine).includes(pattern) }
  const compiled = readable("pattern is no regular expression of RE2", () => RE2JS.compile(pattern))
  const size = compiled.programSize()
  if (size > maxProgram) throw refused("The pattern is too large: it counts too far, or has too many alternatives.")
  const most = Math.min(maxLine, Math.floor(maxCost / size))
  return { matches: (line) => compiled.matcher(line.slice(0, most)).find() }
}

/** A glob without `/` is about names, one with it about paths from the root. */
export const pathTest = (glob: string): ((path: string) => boolean) => {
  const own = glob.replace(/^\.?\//, "")
  return readable("glob cannot be read", () => globTest(own.includes("/") ? own : `**/${own}`, { braces: true }))
}

const readable = <A>(what: string, read: () => A): A => {
  try {
    return read()
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it cannot be read"
    throw refused(`The ${what}: ${reason}`)
  }
}

const refused = (message: string): FileRefused => new FileRefused({ kind: "failed", message })
