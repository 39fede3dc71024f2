/**
 * What stands in an evaluated word for text that is not known before the command runs. Commands with control
 * characters are never evaluated, so that no command can hold such a mark itself.
 */

/** Unknown text that the shell may split into several words. */
export const hole = "\x00"
/** Unknown text that stays one word. */
export const quotedHole = "\x04"
/** A pattern that the shell matches with the names of files. */
export const glob = "\x02"
/** The name of a pipe to or from another command: `<(…)`. */
export const pipeName = "\x03"
/** Where the shell splits a value into words. */
export const cut = "\x1f"

// biome-ignore lint/suspicious/noControlCharactersInRegex: the marks are control characters
const unknown = /[\x00\x02\x03\x04]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const unknownText = /[\x00\x04]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const marks = /[\x00\x02\x03\x04\x1f]/g

/** Is every character known? */
export const isKnown = (word: string): boolean => !unknown.test(word)

/** Is there text in it that another command, or the environment, gives? */
export const hasHole = (word: string): boolean => unknownText.test(word)

/** May the word be an option, for all that is known? `-` with an unknown rest may be any. */
export const mayBeOption = (word: string): boolean =>
  word.startsWith(hole) || word.startsWith(quotedHole) || (word.startsWith("-") && !isKnown(word))

/** For people: what is not known as an ellipsis. */
export const readable = (word: string): string => word.replace(marks, "…")
