/**
 * Files below one folder, and nowhere else: a link in the place of a folder or a file is refused, so that no repository
 * can make the service read or write elsewhere. A write is there as a whole or not at all.
 */
import { constants } from "node:fs"
import { lstat, mkdir, open, readdir, realpath, rename, unlink } from "node:fs/promises"
import { join } from "node:path"

/** Bytes of one file. */
export const maxFile = 8_388_608

/** The file cannot be used; the message is for people and names no path of this machine. */
export class FileRefused extends Error {}

export class FileTooLarge extends FileRefused {}

/** A path inside the folder: names of folders, then that of the file. None of them comes from outside unchecked. */
export type Place = ReadonlyArray<string>

export const textOfPlace = (place: Place): string => place.join("/")

export const makeContained = async (folder: string) => {
  const top = await realpath(folder)

  /** The folder at that place, made where it is missing and may be made; undefined where it is not there. */
  const enter = async (place: Place, make: boolean): Promise<string | undefined> => {
    let path = top
    for (const [depth, name] of place.entries()) {
      if (name === "" || name === "." || name === ".." || /[/\\\0]/.test(name))
        throw new FileRefused("A name is not one.")
      path = join(path, name)
      if (make) await mkdir(path, { mode: 0o755 }).catch(unless("EEXIST"))
      const stat = await lstat(path).catch(unless("ENOENT"))
      if (stat === undefined) return undefined
      if (!stat.isDirectory()) throw new FileRefused(`${textOfPlace(place.slice(0, depth + 1))} is not a folder.`)
    }
    return path
  }

  const read = async (place: Place, maximum: number = maxFile): Promise<string | undefined> => {
    const folders = place.slice(0, -1)
    const path = await enter(folders, false)
    if (path === undefined) return undefined
    const handle = await open(
      join(path, place.at(-1) ?? ""),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    ).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return undefined
      throw codeOf(error) === "ELOOP" ? new FileRefused(`${textOfPlace(place)} is a link.`) : error
    })
    if (handle === undefined) return undefined
    try {
      const stat = await handle.stat()
      if (!stat.isFile()) throw new FileRefused(`${textOfPlace(place)} is not a file.`)
      if (stat.size > maximum) throw new FileTooLarge(`${textOfPlace(place)} is larger than ${maximum} bytes.`)
      // the folders that were looked at are those that the file was opened in
      await enter(folders, false)
      return await handle.readFile("utf8")
    } finally {
      await handle.close()
    }
  }

  const says = async (place: Place, text: string): Promise<boolean> => {
    try {
      return (await read(place, Buffer.byteLength(text))) === text
    } catch (error) {
      if (error instanceof FileTooLarge) return false
      throw error
    }
  }

  return {
    /** Undefined where it is not there. `maximum`: bytes. */
    read,

    /** Names of the regular files in a folder, sorted. */
    list: async (place: Place): Promise<ReadonlyArray<string>> => {
      const path = await enter(place, false)
      if (path === undefined) return []
      const found = await readdir(path, { withFileTypes: true })
      return found.flatMap((each) => (each.isFile() ? [each.name] : [])).toSorted()
    },

    /** Names of the folders in a folder, sorted. */
    folders: async (place: Place): Promise<ReadonlyArray<string>> => {
      const path = await enter(place, false)
      if (path === undefined) return []
      const found = await readdir(path, { withFileTypes: true })
      return found.flatMap((each) => (each.isDirectory() ? [each.name] : [])).toSorted()
    },

    /** A file that says so already is left as it is. */
    write: async (place: Place, text: string): Promise<void> => {
      if (await says(place, text)) return
      const folders = place.slice(0, -1)
      const path = (await enter(folders, true)) ?? top
      const draft = join(path, `.${place.at(-1)}.${crypto.randomUUID()}`)
      try {
        const handle = await open(draft, "wx", 0o644)
        try {
          await handle.writeFile(text)
          await handle.sync()
        } finally {
          await handle.close()
        }
        await enter(folders, false)
        await rename(draft, join(path, place.at(-1) ?? ""))
      } catch (error) {
        await unlink(draft).catch(() => undefined)
        throw error
      }
    },

    remove: async (place: Place): Promise<void> => {
      const path = await enter(place.slice(0, -1), false)
      if (path !== undefined) await unlink(join(path, place.at(-1) ?? "")).catch(unless("ENOENT"))
    },
  }
}

export type Contained = Awaited<ReturnType<typeof makeContained>>

const unless =
  (code: string) =>
  (error: unknown): undefined => {
    if (codeOf(error) !== code) throw error
    return undefined
  }

const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined
