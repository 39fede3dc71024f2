/** A part of a text that must not be shown. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Stands in the place of what was taken out. */
export const mark = "[redacted]"

/** In order, and none touches another. */
export const merged = (spans: ReadonlyArray<Span>): ReadonlyArray<Span> => {
  const ordered = [...spans].sort((a, b) => a.start - b.start || b.end - a.end)
  const result: Array<Span> = []
  for (const span of ordered) {
    const last = result.at(-1)
    if (last === undefined || span.start > last.end) result.push(span)
    else if (span.end > last.end) result[result.length - 1] = { start: last.start, end: span.end }
  }
  return result
}

/** `spans` as `merged` gives them. */
export const without = (text: string, spans: ReadonlyArray<Span>): string => {
  let at = 0
  let clean = ""
  for (const { start, end } of spans) {
    clean += text.slice(at, start) + mark
    at = end
  }
  return clean + text.slice(at)
}
