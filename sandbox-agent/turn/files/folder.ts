/**
 * An open folder, and paths that mean an entry of this very folder whatever happens to its name meanwhile.
 * Linux gives that by `/proc/self/fd`, as `openat` would; elsewhere the folder is looked at again after each use.
 */
import { existsSync, constants as flags } from "node:fs"
import { type FileHandle, lstat, open, realpath } from "node:fs/promises"
import { join } from "node:path"
import { refuse } from "#sandbox-agent/turn/files/refused.ts"

/** Of Linux, and not among Node's constants: a handle for looking and walking, not for reading. */
const O_PATH = 0o10000000

/** A descriptor can be walked from. */
const handles = process.platform === "linux" && existsSync("/proc/self/fd")

export interface Folder {
  /** For the calls of `node:fs`: an entry of this folder. Links in the last place are not followed by this. */
  readonly at: (name: string) => string
  /** The same for the folder itself. */
  readonly path: string
  /** Names from the root of the checkout, without any link. */
  readonly names: ReadonlyArray<string>
  /** Refuses where the folder is no longer where it was. Always right where there are handles. */
  readonly confirm: () => Promise<void>
  readonly close: () => Promise<void>
}

/** The root, which has to be a real path and a folder. */
export const openRoot = (root: string): Promise<Folder> => openFolder(root, root, [])

export const openChild = (parent: Folder, root: string, name: string): Promise<Folder> =>
  openFolder(parent.at(name), root, [...parent.names, name])

const openFolder = async (path: string, root: string, names: ReadonlyArray<string>): Promise<Folder> =>
  handles ? byHandle(path, names) : byName(path, root, names)

const byHandle = async (path: string, names: ReadonlyArray<string>): Promise<Folder> => {
  const handle = await open(path, O_PATH | flags.O_DIRECTORY | flags.O_NOFOLLOW)
  const own = `/proc/self/fd/${handle.fd}`
  return { at: (name) => `${own}/${name}`, path: own, names, confirm: async () => {}, close: () => handle.close() }
}

const byName = async (path: string, root: string, names: ReadonlyArray<string>): Promise<Folder> => {
  const confirm = async (): Promise<void> => {
    if ((await realpath(path)) !== join(root, ...names)) refuse("failed", "The folder was moved meanwhile.")
  }
  if (!(await lstat(path)).isDirectory()) refuse("forbidden", "A part of this path is no folder.")
  await confirm()
  return { at: (name) => join(path, name), path, names, confirm, close: async () => {} }
}

/**
 * A regular file, opened for reading. What it is is asked before it is opened, so that a pipe never blocks
 * and a device is never touched; then the same file is opened, not the same name.
 */
export const openFile = async (folder: Folder, name: string): Promise<FileHandle> => {
  if (!handles) return openFileByName(folder, name)
  const look = await open(folder.at(name), O_PATH | flags.O_NOFOLLOW)
  try {
    if (!(await look.stat()).isFile()) refuse("wrong_kind", "This is no regular file.")
    return await open(`/proc/self/fd/${look.fd}`, flags.O_RDONLY)
  } finally {
    await look.close()
  }
}

const openFileByName = async (folder: Folder, name: string): Promise<FileHandle> => {
  const seen = await lstat(folder.at(name))
  if (!seen.isFile()) refuse("wrong_kind", "This is no regular file.")
  const file = await open(folder.at(name), flags.O_RDONLY | (flags.O_NOFOLLOW ?? 0) | (flags.O_NONBLOCK ?? 0))
  try {
    const opened = await file.stat()
    if (!opened.isFile() || opened.ino !== seen.ino || opened.dev !== seen.dev) {
      refuse("failed", "The file was replaced meanwhile.")
    }
    await folder.confirm()
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}
