/** Brace expansion on the text of a word, as bash does it before everything else: `{rm,-rf}`, `r{l..n}`. */

/** Words that one word may become, and groups that it may have. */
const maxWords = 64
const maxGroups = 12

/** Undefined where it would become too many. */
export const expandBraces = (text: string): ReadonlyArray<string> | undefined => {
  if (text.split("{").length - 1 > maxGroups) return undefined
  const words = expanded(text)
  return words.length > maxWords ? undefined : words
}

const expanded = (text: string): ReadonlyArray<string> => {
  const found = firstGroup(text)
  if (found === undefined) return [text]
  const { start, end, choices } = found
  const before = text.slice(0, start)
  const after = expanded(text.slice(end))
  if (choices.length * after.length > maxWords) return Array.from({ length: maxWords + 1 }, () => text)
  return choices.flatMap(expanded).flatMap((choice) => after.map((rest) => before + choice + rest))
}

interface Group {
  readonly start: number
  /** Behind the closing brace. */
  readonly end: number
  readonly choices: ReadonlyArray<string>
}

const firstGroup = (text: string): Group | undefined => {
  for (let start = 0; start < text.length; start++) {
    start = afterQuoted(text, start)
    if (text[start] !== "{" || text[start - 1] === "$") continue
    const group = groupAt(text, start)
    if (group !== undefined) return group
  }
  return undefined
}

const groupAt = (text: string, start: number): Group | undefined => {
  const commas: Array<number> = []
  let depth = 0
  for (let at = start; at < text.length; at++) {
    at = afterQuoted(text, at)
    if (text[at] === "{") depth++
    else if (text[at] === "," && depth === 1) commas.push(at)
    else if (text[at] === "}" && --depth === 0) {
      const choices = commas.length > 0 ? parts(text, start, commas, at) : sequence(text.slice(start + 1, at))
      return choices === undefined ? undefined : { start, end: at + 1, choices }
    }
  }
  return undefined
}

const parts = (text: string, start: number, commas: ReadonlyArray<number>, end: number): ReadonlyArray<string> =>
  [...commas, end].map((stop, index) => text.slice((index === 0 ? start : (commas[index - 1] ?? start)) + 1, stop))

const sequence = (text: string): ReadonlyArray<string> | undefined => {
  const ends = /^(?:([A-Za-z])\.\.([A-Za-z])|(-?\d{1,9})\.\.(-?\d{1,9}))$/.exec(text)
  if (ends === null) return undefined
  const [, firstLetter, lastLetter, first, last] = ends
  const letters = firstLetter !== undefined && lastLetter !== undefined
  const from = letters ? firstLetter.charCodeAt(0) : Number(first)
  const to = letters ? lastLetter.charCodeAt(0) : Number(last)
  if (Math.abs(to - from) >= maxWords) return undefined
  const step = from <= to ? 1 : -1
  return Array.from({ length: Math.abs(to - from) + 1 }, (_, index) => {
    const value = from + index * step
    return letters ? String.fromCharCode(value) : String(value)
  })
}

/** The next place at or after `at` that is neither escaped nor quoted. */
const afterQuoted = (text: string, at: number): number => {
  let here = at
  while (here < text.length) {
    if (text[here] === "\\") here += 2
    else if (text[here] === "'" || text[here] === '"') here = closing(text, here) + 1
    else return here
  }
  return here
}

const closing = (text: string, open: number): number => {
  const quote = text[open]
  let at = open + 1
  while (at < text.length && text[at] !== quote) at += text[at] === "\\" && quote === '"' ? 2 : 1
  return at
}
