/**
 * Finds lines by their text. What is shown was read through the contained file system; where ripgrep is installed,
 * it says which files are worth reading, and nothing that it prints is taken for content.
 */
import { type Folder, openFile } from "#sandbox-agent/turn/files/folder.ts"
import { locate } from "#sandbox-agent/turn/files/locate.ts"
import { FileRefused } from "#sandbox-agent/turn/files/refused.ts"
import { makeBreather } from "#sandbox-agent/turn/search/breather.ts"
import type { Found } from "#sandbox-agent/turn/search/file-search.ts"
import { listFiles } from "#sandbox-agent/turn/search/list.ts"
import { type LineTest, lineTest, pathTest } from "#sandbox-agent/turn/search/pattern.ts"
import { candidatesByRipgrep } from "#sandbox-agent/turn/search/ripgrep.ts"

/** Bytes of a file; larger ones are data, not sources. */
export const maxSearchedBytes = 1_048_576
/** Characters of a line that are shown. */
const maxShown = 400

export interface GrepQuery {
  readonly pattern: string
  readonly isRegex: boolean
  /** A glob for the paths. */
  readonly include: string | undefined
  readonly limit: number
}

/** `ripgrep`: the program, or undefined where there is none. */
export const grep = async (
  root: string,
  query: GrepQuery,
  ripgrep: string | undefined,
  signal: AbortSignal,
): Promise<Found> => {
  const test = lineTest(query.pattern, query.isRegex)
  const included = query.include === undefined ? () => true : pathTest(query.include)
  const lines: Array<string> = []
  const full = { lines, cut: `only the first ${query.limit} are shown` }
  const quick = ripgrep === undefined ? undefined : await candidatesByRipgrep(ripgrep, root, query, signal)
  if (quick !== undefined) {
    for (const path of quick.filter(included)) {
      if (signal.aborted) return { lines, cut: "the time for a search was up" }
      const text = await readByPath(root, path)
      if (text !== undefined && (await collect(path, text, test, query.limit, lines, signal))) return full
    }
    return { lines, cut: undefined }
  }
  const listing = listFiles(root, signal)
  for await (const { path, name, folder } of listing.files) {
    const text = included(path) ? await readSearched(folder, name) : undefined
    if (text !== undefined && (await collect(path, text, test, query.limit, lines, signal))) return full
  }
  return { lines, cut: listing.cut() }
}

/** True once there are more than may be shown. */
const collect = async (
  path: string,
  text: string,
  test: LineTest,
  limit: number,
  lines: Array<string>,
  signal: AbortSignal,
): Promise<boolean> => {
  const breathe = makeBreather()
  for (const [index, line] of text.split("\n").entries()) {
    await breathe()
    if (signal.aborted) return false
    if (!test.matches(line)) continue
    if (lines.length === limit) return true
    lines.push(`${path}:${index + 1}:${line.slice(0, maxShown).replace(/\r$/, "")}`)
  }
  return false
}

const readByPath = async (root: string, path: string): Promise<string | undefined> => {
  try {
    await using place = await locate(root, path)
    return place.target.kind === "entry" ? await readSearched(place.folder, place.target.name) : undefined
  } catch (error) {
    if (error instanceof FileRefused) return undefined
    throw error
  }
}

/** Undefined for what is not searched: large, binary, no regular file, gone. */
const readSearched = async (folder: Folder, name: string): Promise<string | undefined> => {
  try {
    await using file = await openFile(folder, name)
    if ((await file.stat()).size > maxSearchedBytes) return undefined
    const bytes = await file.readFile()
    return bytes.subarray(0, maxSearchedBytes).includes(0) ? undefined : bytes.toString("utf8")
  } catch {
    return undefined
  }
}
