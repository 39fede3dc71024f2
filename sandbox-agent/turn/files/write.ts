/**
 * Changes files of the checkout, all or none. A new content goes to a file beside the old one and takes its name:
 * so a reader sees one or the other, and a file that shares its storage with another (a hard link, a lower layer
 * of an overlay) never changes under that other name.
 */
import { randomBytes } from "node:crypto"
import { constants as flags } from "node:fs"
import { link, lstat, mkdir, open, readdir, rename, rmdir, unlink } from "node:fs/promises"
import { type Folder, openChild } from "#sandbox-agent/turn/files/folder.ts"
import type { Place } from "#sandbox-agent/turn/files/locate.ts"
import { isAscii, lookAlikeKey } from "#sandbox-agent/turn/files/name.ts"
import { codeOf, refusalOf, refuse } from "#sandbox-agent/turn/files/refused.ts"

/** Bytes that a tool may write to one file. */
export const maxWriteBytes = 4_194_304

/** Files on their way; a worker that is lost leaves them, and nothing else has such a name. */
export const temporaryName = /^\.svc-[0-9a-f]{32}\.tmp$/
const newTemporaryName = (): string => `.svc-${randomBytes(16).toString("hex")}.tmp`

export type Change =
  | {
      readonly kind: "write"
      readonly place: Place
      readonly text: string
      /** `create` fails where something is there, `replace` where it is not what was found; `any` does not care. */
      readonly how: "create" | "replace" | "any"
      /** Bits of the mode; those of the file that is replaced where absent. */
      readonly mode?: number
    }
  /** The file, or the link itself. */
  | { readonly kind: "delete"; readonly place: Place }

type Undo = () => Promise<void>

/** What is to be done once all succeeded, and what if not, each in the order of what was done. */
interface Work {
  readonly undo: Array<Undo>
  readonly finish: Array<Undo>
}

/** Fails with `FileRefused`, and everything is as it was. */
export const applyChanges = async (root: string, changes: ReadonlyArray<Change>): Promise<void> => {
  const work: Work = { undo: [], finish: [] }
  try {
    const staged: Array<Staged> = []
    for (const change of changes) staged.push(await stage(root, change, work))
    for (const one of staged) await carryOut(one, changes.length > 1, work)
  } catch (error) {
    for (const undo of work.undo.reverse()) await undo().catch(() => undefined)
    throw error
  } finally {
    for (const finish of work.finish.reverse()) await finish().catch(() => undefined)
  }
}

interface Staged {
  readonly change: Change
  readonly folder: Folder
  readonly name: string
  /** Where the new content is. */
  readonly temporary: string | undefined
}

const stage = async (root: string, change: Change, work: Work): Promise<Staged> => {
  const { target, shown } = change.place
  if (target.kind === "folder") return refuse("wrong_kind", `${shown}: this is a folder`)
  try {
    if (change.kind === "delete") {
      if (target.kind === "missing") return refuse("not_found", `${shown}: there is no such file`)
      if (!target.stats.isFile() && !target.stats.isSymbolicLink()) {
        return refuse("wrong_kind", `${shown}: this is no regular file`)
      }
      return { change, folder: change.place.folder, name: target.name, temporary: undefined }
    }
    checkText(change.text, shown)
    if (target.kind === "entry") {
      if (change.how === "create") return refuse("exists", `${shown}: it is there already`)
      if (!target.stats.isFile()) return refuse("wrong_kind", `${shown}: this is no regular file`)
      const mode = change.mode ?? target.stats.mode & 0o777
      const temporary = await writeBeside(change.place.folder, change.text, mode, work)
      return { change, folder: change.place.folder, name: target.name, temporary }
    }
    if (change.how === "replace") return refuse("not_found", `${shown}: there is no such file`)
    const folder = await makeFolders(root, change.place.folder, target.names.slice(0, -1), shown, work)
    const name = target.names[target.names.length - 1] ?? target.names[0]
    await refuseLookAlike(folder, name, shown)
    return { change, folder, name, temporary: await writeBeside(folder, change.text, change.mode, work) }
  } catch (error) {
    throw refusalOf(error, shown)
  }
}

const checkText = (text: string, shown: string): void => {
  if (Buffer.byteLength(text) > maxWriteBytes) refuse("too_large", `${shown}: more than ${maxWriteBytes} bytes`)
  if (!text.isWellFormed()) refuse("forbidden", `${shown}: the text is not valid Unicode`)
  if (text.includes("\0")) refuse("forbidden", `${shown}: the text has a NUL character in it`)
}

const writeBeside = async (folder: Folder, text: string, mode: number | undefined, work: Work): Promise<string> => {
  const name = newTemporaryName()
  const wanted = flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | (flags.O_NOFOLLOW ?? 0)
  await folder.confirm()
  await using file = await open(folder.at(name), wanted, 0o666)
  const remove = () => unlink(folder.at(name))
  work.undo.push(remove)
  work.finish.push(remove)
  await file.writeFile(text)
  if (mode !== undefined) await file.chmod(mode)
  return name
}

/** Makes the folders that are missing and opens them; closed when all is done. */
const makeFolders = async (
  root: string,
  from: Folder,
  names: ReadonlyArray<string>,
  shown: string,
  work: Work,
): Promise<Folder> => {
  let folder = from
  for (const name of names) {
    const parent = folder
    await refuseLookAlike(parent, name, shown)
    try {
      await mkdir(parent.at(name))
      work.undo.push(() => rmdir(parent.at(name)))
    } catch (error) {
      // made for another change of the same patch, or by somebody else: what it is, opening it tells
      if (codeOf(error) !== "EEXIST") throw error
    }
    folder = await openChild(parent, root, name)
    work.finish.push(folder.close)
  }
  return folder
}

/** A new name beside one that reads the same, or is the same on another system, is a trap for reviewers. */
const refuseLookAlike = async (folder: Folder, name: string, shown: string): Promise<void> => {
  const entries = isAscii(name) ? [] : await readdir(folder.path)
  const key = lookAlikeKey(name)
  if (entries.some((entry) => entry !== name && lookAlikeKey(entry) === key)) {
    refuse("exists", `${shown}: there is a name that looks the same; use that one`)
  }
}

const carryOut = async (staged: Staged, severalChanges: boolean, work: Work): Promise<void> => {
  const { change, folder, name, temporary } = staged
  try {
    await folder.confirm()
    if (temporary === undefined) return await takeAway(folder, name, work)
    const { target } = change.place
    const replaces = target.kind === "entry"
    if (!replaces && change.kind === "write" && change.how !== "any") return await create(folder, temporary, name, work)
    if (change.kind === "write" && change.how === "replace") await refuseIfChanged(staged)
    if (severalChanges) await keepOld(folder, name, work)
    await rename(folder.at(temporary), folder.at(name))
  } catch (error) {
    throw refusalOf(error, change.place.shown)
  }
}

const takeAway = async (folder: Folder, name: string, work: Work): Promise<void> => {
  const aside = newTemporaryName()
  await rename(folder.at(name), folder.at(aside))
  work.undo.push(() => rename(folder.at(aside), folder.at(name)))
  work.finish.push(() => unlink(folder.at(aside)))
}

/** Never over something: a link is only made where there is nothing. */
const create = async (folder: Folder, temporary: string, name: string, work: Work): Promise<void> => {
  try {
    await link(folder.at(temporary), folder.at(name))
  } catch (error) {
    // a file system without hard links: nothing may be there a moment before
    if (codeOf(error) === "EEXIST" || (await isThere(folder, name))) throw error
    await rename(folder.at(temporary), folder.at(name))
  }
  work.undo.push(() => unlink(folder.at(name)))
}

const isThere = (folder: Folder, name: string): Promise<boolean> =>
  lstat(folder.at(name)).then(
    () => true,
    () => false,
  )

const keepOld = async (folder: Folder, name: string, work: Work): Promise<void> => {
  if (!(await isThere(folder, name))) {
    work.undo.push(() => unlink(folder.at(name)))
    return
  }
  const aside = newTemporaryName()
  await link(folder.at(name), folder.at(aside)).catch(() => rename(folder.at(name), folder.at(aside)))
  work.undo.push(() => rename(folder.at(aside), folder.at(name)))
  work.finish.push(() => unlink(folder.at(aside)))
}

const refuseIfChanged = async ({ change: { place }, folder, name }: Staged): Promise<void> => {
  const { target, shown } = place
  const now = await lstat(folder.at(name))
  if (target.kind !== "entry" || now.ino !== target.stats.ino || now.mtimeMs !== target.stats.mtimeMs) {
    refuse("failed", `${shown}: it was changed meanwhile; read it again`)
  }
}
