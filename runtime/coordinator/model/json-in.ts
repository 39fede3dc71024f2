/** Finds the JSON in what a model wrote: alone, in a fenced block, or between sentences. */

/** Characters of an answer that are looked at. */
const maxLength = 1_000_000
/** Places where a value could begin that are tried. */
const maxTries = 50

/** The first object or array (as `opening` says) that can be read; undefined where there is none. */
export const jsonIn = (answer: string, opening: "{" | "["): unknown => {
  const text = answer.slice(0, maxLength)
  let start = -1
  for (let tries = 0; tries < maxTries; tries++) {
    start = text.indexOf(opening, start + 1)
    if (start < 0) return undefined
    const end = closing(text, start)
    if (end === undefined) continue
    try {
      return JSON.parse(text.slice(start, end + 1))
    } catch {
      // a bracket in prose: the next one may be it
    }
  }
  return undefined
}

/** The place of the bracket that closes the one at `start`, strings left aside. */
const closing = (text: string, start: number): number | undefined => {
  let depth = 0
  let inString = false
  for (let at = start; at < text.length; at++) {
    const char = text[at]
    if (inString) {
      if (char === "\\") at++
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === "{" || char === "[") depth++
    else if (char === "}" || char === "]") {
      depth--
      if (depth === 0) return at
    }
  }
  return undefined
}
