/**
 * Reads what an agent left in its tree, while it may still be changing it. Content is taken from a handle
 * that is known to be below the root: no link is followed, and a path that is exchanged between two looks
 * leads nowhere. Devices, pipes and sockets are not read.
 *
 * Paths are the bytes of the name read as Latin-1: names need not be UTF-8.
 */
import { constants, type FileHandle, open, readlink } from "node:fs/promises"
import { Effect } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { codeOf, failed, onDisk } from "#runtime/git/failed.ts"
import { maxFileBytes } from "#runtime/git/limits.ts"

export type Found =
  | { readonly _tag: "File"; readonly executable: boolean; readonly content: Buffer }
  | { readonly _tag: "Link"; readonly target: Buffer }
  | { readonly _tag: "Folder" }
  /** Nothing, or nothing that can be kept. */
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "TooLarge" }

const nothing: Found = { _tag: "Nothing" }
const isLinux = process.platform === "linux"

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const fileFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/** `root` must be a real path. Fails with `too_large`. */
export const readSafely = (root: string, path: string): Effect.Effect<Found, CheckoutFailed> =>
  Effect.filterOrFail(
    onDisk(() => read(root, path)),
    (found) => found._tag !== "TooLarge",
    () => failed("too_large", `A file is larger than ${maxFileBytes} bytes: ${shown(path)}`),
  )

/** A path for people. */
export const shown = (path: string): string => Buffer.from(path, "latin1").toString("utf8")

const read = async (root: string, path: string): Promise<Found> => {
  const at = path.lastIndexOf("/")
  const expected = Buffer.concat([Buffer.from(root), Buffer.from(at < 0 ? "" : `/${path.slice(0, at)}`, "latin1")])
  const folder = await open(expected, folderFlags).catch(unreadable)
  if (folder === undefined) return nothing
  try {
    if (isLinux && !(await pathOf(folder)).equals(expected)) return nothing
    const name = Buffer.from(path.slice(at + 1), "latin1")
    const beneath = Buffer.concat([
      isLinux ? Buffer.from(`/proc/self/fd/${folder.fd}/`) : Buffer.concat([expected, slash]),
      name,
    ])
    return await readEntry(beneath)
  } finally {
    await folder.close()
  }
}

const slash = Buffer.from("/")

const pathOf = (handle: FileHandle): Promise<Buffer> => readlink(`/proc/self/fd/${handle.fd}`, { encoding: "buffer" })

const readEntry = async (path: Buffer): Promise<Found> => {
  const file = await open(path, fileFlags).catch((error: unknown) => {
    if (codeOf(error) === "ELOOP") return "link" as const
    return unreadable(error)
  })
  if (file === undefined) return nothing
  if (file === "link") {
    const target = await readlink(path, { encoding: "buffer" }).catch(unreadable)
    return target === undefined ? nothing : { _tag: "Link", target }
  }
  try {
    const stat = await file.stat()
    if (stat.isDirectory()) return { _tag: "Folder" }
    if (!stat.isFile()) return nothing
    if (stat.size > maxFileBytes) return { _tag: "TooLarge" }
    return { _tag: "File", executable: (stat.mode & 0o100) !== 0, content: await content(file, stat.size) }
  } finally {
    await file.close()
  }
}

/** At most what was there when it was looked at: a file that grows meanwhile is cut. */
const content = async (file: FileHandle, size: number): Promise<Buffer> => {
  const buffer = Buffer.allocUnsafe(size)
  let filled = 0
  while (filled < size) {
    const { bytesRead } = await file.read(buffer, filled, size - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

/** It went away, became something else, or was never a file: ENXIO is a socket or a pipe. */
const unreadable = (error: unknown): undefined => {
  const code = codeOf(error)
  if (["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "ENODEV", "EINVAL", "ENAMETOOLONG"].includes(code ?? "")) return undefined
  throw error
}
