/** Patterns of models, as tests of a text: bounded in what they may cost. */
import picomatch from "picomatch"
import { RE2JS } from "re2js"
import { FileRefused } from "#sandbox-agent/turn/files/refused.ts"

/** Characters of a pattern. */
export const maxPattern = 1_000
/** Each star of a glob can multiply the work. */
const maxStars = 12

export interface LineTest {
  readonly matches: (line: string) => boolean
}

/** Regular expressions are RE2's: time grows with the line, never with its power; no look-around, no back-references. */
export const lineTest = (pattern: string, isRegex: boolean): LineTest => {
  if (!isRegex) return { matches: (line) => line.includes(pattern) }
  try {
    const compiled = RE2JS.compile(pattern)
    return { matches: (line) => compiled.matcher(line).find() }
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it cannot be read"
    throw new FileRefused({ kind: "failed", message: `The pattern is no regular expression of RE2: ${reason}` })
  }
}

/** A glob without `/` is about names, one with it about paths from the root. */
export const pathTest = (glob: string): ((path: string) => boolean) => {
  if (glob.split("*").length - 1 > maxStars) {
    throw new FileRefused({ kind: "failed", message: `The glob has more than ${maxStars} stars.` })
  }
  const own = glob.replace(/^\.?\//, "")
  return picomatch(own.includes("/") ? own : `**/${own}`, { dot: true, nonegate: true })
}
