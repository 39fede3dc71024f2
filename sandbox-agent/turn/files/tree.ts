/** The files of the checkout, folder by folder through open handles: no link is followed, `.git` is not entered. */
import type { Dirent } from "node:fs"
import { readdir, unlink } from "node:fs/promises"
import { type Folder, openChild, openRoot } from "#sandbox-agent/turn/files/folder.ts"
import { refusedName } from "#sandbox-agent/turn/files/name.ts"
import { codeOf } from "#sandbox-agent/turn/files/refused.ts"
import { temporaryName } from "#sandbox-agent/turn/files/write.ts"

/** Folders inside of each other that are entered. */
const maxDepth = 64

export interface Visit {
  readonly folder: Folder
  readonly entries: ReadonlyArray<Dirent>
}

/**
 * Every folder with its entries in the order of their names, outer ones first. The folder is open until the next
 * one is asked for. `enters` is asked before a folder is opened.
 */
export async function* folders(root: string, enters: (path: string) => boolean): AsyncGenerator<Visit> {
  const top = await openRoot(root)
  try {
    yield* below(root, top, enters)
  } finally {
    await top.close()
  }
}

async function* below(root: string, folder: Folder, enters: (path: string) => boolean): AsyncGenerator<Visit> {
  const entries = await readdir(folder.path, { withFileTypes: true })
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  const allowed = entries.filter(({ name }) => refusedName(name) === undefined)
  yield { folder, entries: allowed }
  if (folder.names.length >= maxDepth) return
  for (const entry of allowed) {
    if (!entry.isDirectory() || !enters([...folder.names, entry.name].join("/"))) continue
    const child = await openIfThere(folder, root, entry.name)
    if (child === undefined) continue
    try {
      yield* below(root, child, enters)
    } finally {
      await child.close()
    }
  }
}

/** It may have gone, or have become a link, since its name was read. */
const openIfThere = async (folder: Folder, root: string, name: string): Promise<Folder | undefined> => {
  try {
    return await openChild(folder, root, name)
  } catch (error) {
    if (["ENOENT", "ELOOP", "ENOTDIR", "EACCES"].includes(codeOf(error) ?? "")) return undefined
    throw error
  }
}

/** Removes what a lost worker left of a change that it was about to make. */
export const removeLeftovers = async (root: string): Promise<void> => {
  for await (const { folder, entries } of folders(root, (path) => !path.endsWith("/node_modules"))) {
    for (const { name } of entries) {
      if (temporaryName.test(name)) await unlink(folder.at(name)).catch(() => undefined)
    }
  }
}
