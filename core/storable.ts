/**
 * Texts as the database takes them: without NUL and halves of surrogate pairs, which models and programs write now and then.
 * A text with a NUL cannot be stored. JSON with either can, and fails each statement that reads a member of it: one word
 * of an agent would hold up whoever looks at its run.
 */

const replacement = "\ufffd"

export const storableText = (text: string): string => text.toWellFormed().replaceAll("\0", replacement)

/** In JSON text they are escapes, of names of members as well. */
const unstorable = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g

/** `JSON.stringify` of a value that it can write. */
export const storableJson = (value: unknown, change?: (key: string, value: unknown) => unknown): string =>
  JSON.stringify(value, change).replace(unstorable, `$1${replacement}`)
