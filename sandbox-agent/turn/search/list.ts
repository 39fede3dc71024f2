/** The files that a search looks at: regular ones that git would not ignore, in a stable order, within a budget. */
import type { Folder } from "#sandbox-agent/turn/files/folder.ts"
import { openFile } from "#sandbox-agent/turn/files/folder.ts"
import { folders } from "#sandbox-agent/turn/files/tree.ts"
import { makeBreather } from "#sandbox-agent/turn/search/breather.ts"
import { type IgnoreRule, ignoreRules, isIgnored } from "#sandbox-agent/turn/search/ignore.ts"

/** Entries that one search looks at. */
const maxEntries = 200_000
const maxIgnoreBytes = 65_536

export interface Candidate {
  /** From the root, with `/`. */
  readonly path: string
  readonly name: string
  /** Open until the next candidate is asked for. */
  readonly folder: Folder
}

export interface Listing {
  readonly files: AsyncGenerator<Candidate>
  /** Why the listing ended before all was seen, once it has. */
  readonly cut: () => string | undefined
}

/** Ends early when the signal says so. */
export const listFiles = (root: string, signal: AbortSignal): Listing => {
  let cut: string | undefined
  const rules = new Map<string, ReadonlyArray<IgnoreRule>>()
  const rulesFor = (folder: string): ReadonlyArray<IgnoreRule> => rules.get(folder) ?? []

  async function* files(): AsyncGenerator<Candidate> {
    const breathe = makeBreather()
    let seen = 0
    const enters = (path: string): boolean => !isIgnored(rulesFor(parentOf(path)), path, true)
    for await (const { folder, entries } of folders(root, enters)) {
      const own = folder.names.join("/")
      const inherited = folder.names.length === 0 ? [] : rulesFor(parentOf(own))
      const hasRules = entries.some((entry) => entry.name === ".gitignore" && entry.isFile())
      rules.set(own, hasRules ? [...inherited, ...(await readRules(folder, own))] : inherited)
      for (const entry of entries) {
        seen += 1
        await breathe()
        if (seen > maxEntries) cut = `only ${maxEntries} files and folders were looked at`
        if (signal.aborted) cut = "the time for a search was up"
        if (cut !== undefined) return
        const path = own === "" ? entry.name : `${own}/${entry.name}`
        if (entry.isFile() && !isIgnored(rulesFor(own), path, false)) yield { path, name: entry.name, folder }
      }
    }
  }
  return { files: files(), cut: () => cut }
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")))

const readRules = async (folder: Folder, own: string): Promise<ReadonlyArray<IgnoreRule>> => {
  try {
    await using file = await openFile(folder, ".gitignore")
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxIgnoreBytes), 0, maxIgnoreBytes, 0)
    return ignoreRules(own, buffer.subarray(0, bytesRead).toString("utf8"))
  } catch {
    // one that cannot be read hides nothing
    return []
  }
}
