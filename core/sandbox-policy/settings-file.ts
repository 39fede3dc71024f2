/**
 * `.svc/settings.yml` of a repository: read and written where it really is. A link in the place of the folder or of
 * the file is refused, so that no repository can make the service read or write elsewhere. Other keys and the
 * comments of the file stay as they are.
 */
import { constants } from "node:fs"
import { lstat, mkdir, open, realpath, rename, unlink } from "node:fs/promises"
import { join } from "node:path"
import { type Document, isMap, parseDocument } from "yaml"

const folderName = ".svc"
const fileName = "settings.yml"
const section = "sandbox"

/** Bytes of the file. */
const maxFile = 262_144

/** The file cannot be used; the message is for people and names no path of this machine. */
export class SettingsFileRefused extends Error {}

const refused = (message: string) => new SettingsFileRefused(message)

interface SettingsFile {
  readonly document: Document
  /** Permission bits; undefined where there is no file. */
  readonly mode: number | undefined
}

/** The section of the sandbox as a plain value; undefined where there is none. */
export const readSection = async (repository: string): Promise<unknown> => {
  const { document } = await load(await realpath(repository))
  if (document.contents === null) return undefined
  if (!isMap(document.contents)) throw refused(`${folderName}/${fileName} is not a list of settings.`)
  // no aliases: a small text can stand for a value of any size
  const settings: unknown = document.toJS({ maxAliasCount: 0 })
  return typeof settings === "object" && settings !== null
    ? ((settings as Readonly<Record<string, unknown>>)[section] ?? undefined)
    : undefined
}

/** Replaces the section, at once or not at all. */
export const writeSection = async (repository: string, value: unknown): Promise<void> => {
  const top = await realpath(repository)
  const { document, mode } = await load(top)
  if (document.contents !== null && !isMap(document.contents)) {
    throw refused(`${folderName}/${fileName} is not a list of settings.`)
  }
  document.set(section, document.createNode(value))
  const folder = join(top, folderName)
  await mkdir(folder, { mode: 0o755 }).catch(unless("EEXIST"))
  await checkFolder(folder)
  const draft = join(folder, `.${fileName}.${crypto.randomUUID()}`)
  try {
    const handle = await open(draft, "wx", mode ?? 0o644)
    try {
      await handle.writeFile(document.toString())
      await handle.sync()
    } finally {
      await handle.close()
    }
    await checkFolder(folder)
    await rename(draft, join(folder, fileName))
  } catch (error) {
    await unlink(draft).catch(() => undefined)
    throw error
  }
}

const load = async (top: string): Promise<SettingsFile> => {
  const folder = join(top, folderName)
  if (!(await checkFolder(folder))) return { document: parseDocument(""), mode: undefined }
  const handle = await open(
    join(folder, fileName),
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  ).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined
    throw codeOf(error) === "ELOOP" ? refused(`${folderName}/${fileName} is a link.`) : error
  })
  if (handle === undefined) return { document: parseDocument(""), mode: undefined }
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw refused(`${folderName}/${fileName} is not a file.`)
    if (stat.size > maxFile) throw refused(`${folderName}/${fileName} is larger than ${maxFile} bytes.`)
    // the folder that was looked at is the one that the file was opened in
    await checkFolder(folder)
    const bytes = Buffer.alloc(maxFile + 1)
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0)
    if (bytesRead > maxFile) throw refused(`${folderName}/${fileName} is larger than ${maxFile} bytes.`)
    return { document: parsed(bytes.toString("utf8", 0, bytesRead)), mode: stat.mode & 0o777 }
  } finally {
    await handle.close()
  }
}

const parsed = (text: string): Document => {
  const document = parseDocument(text, { schema: "core", uniqueKeys: true, merge: false, prettyErrors: true })
  const [problem] = [...document.errors, ...document.warnings]
  if (problem === undefined) return document
  const { line } = problem.linePos?.[0] ?? { line: 0 }
  throw refused(`${folderName}/${fileName} cannot be read: line ${line}: ${problem.code}.`)
}

/** False where there is no such folder. */
const checkFolder = async (folder: string): Promise<boolean> => {
  const stat = await lstat(folder).catch(unless("ENOENT"))
  if (stat === undefined) return false
  if (!stat.isDirectory()) throw refused(`${folderName} is not a folder of the repository.`)
  return true
}

const unless =
  (code: string) =>
  (error: unknown): undefined => {
    if (codeOf(error) !== code) throw error
    return undefined
  }

const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined
