/** The line by which a reviewer says, in so many words, which files are meant. Prose is never searched for paths. */

/** Paths that one line may name. */
const maxFiles = 200

const line = /^[^\p{L}\p{N}\n]*TARGET_FILES[^\p{L}\p{N}\n:]*:(.*)$/gmu

/** Of several lines the last counts; null: there is none. `TARGET_FILES: none` names no file. */
export const targetFilesIn = (text: string): ReadonlyArray<string> | null => {
  const found = [...text.matchAll(line)].at(-1)?.[1]
  if (found === undefined) return null
  const names = listOf(found.trim())
    .map((name) => name.replace(/^[`'"*\s]+|[`'"*\s]+$/g, ""))
    .filter((name) => name !== "" && name.toLowerCase() !== "none")
  return [...new Set(names)].slice(0, maxFiles)
}

/** Parted by commas; brackets around the whole are ornament, brackets in a path are not. */
const listOf = (text: string): ReadonlyArray<string> =>
  (/^\[[^\][]*\]$/.test(text) ? text.slice(1, -1) : text).split(",")
