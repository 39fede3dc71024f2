/**
 * The text of an answer as it may be shown while it is still being written: clean of secrets, of which the end may
 * not be there yet. Pure but for what it remembers.
 */

/** Words at the end that are held back: a secret may be going on in them, or be known only by what follows. */
const heldWords = 5

export interface VisibleText {
  /** What can be shown now that could not be before; empty where nothing can. */
  readonly add: (delta: string) => string
  /** What was held back. */
  readonly end: () => string
  /** All of it, clean. */
  readonly whole: () => string
}

export const makeVisibleText = (redact: (text: string) => string): VisibleText => {
  let raw = ""
  let shown = ""

  /** Nothing more is shown where what was shown turns out to be part of something that is not. */
  const show = (clean: string, until: number): string => {
    if (until <= shown.length || !clean.startsWith(shown)) return ""
    const more = clean.slice(shown.length, until)
    shown += more
    return more
  }
  return {
    add: (delta) => {
      raw += delta
      const clean = redact(raw)
      return show(clean, beforeLastWords(clean))
    },
    end: () => {
      const clean = redact(raw)
      return show(clean, clean.length)
    },
    whole: () => redact(raw),
  }
}

const beforeLastWords = (text: string): number => {
  let at = text.length
  for (let word = 0; word < heldWords && at > 0; word += 1) {
    while (at > 0 && isSpace(text, at - 1)) at -= 1
    while (at > 0 && !isSpace(text, at - 1)) at -= 1
  }
  return at
}

const isSpace = (text: string, at: number): boolean => /\s/.test(text[at] ?? "")
