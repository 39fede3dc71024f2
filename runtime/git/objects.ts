/**
 * Writes objects into a git directory of ours, without a process for each and without git looking at the
 * files of an agent: content comes from a handle that was checked.
 */
import { createHash, randomBytes } from "node:crypto"
import { access, mkdir, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { deflate } from "node:zlib"
import type { Identity } from "#core/ports/checkouts.ts"
import { codeOf } from "#runtime/git/failed.ts"

const compress = promisify(deflate)

/** Loose objects are small and written once: the fastest level. */
const level = 1

export interface ObjectStore {
  readonly gitDir: string
  readonly objectFormat: "sha1" | "sha256"
}

/** The id of the object, which is on the disk when this is done. */
export const writeObject = async (
  { gitDir, objectFormat }: ObjectStore,
  type: "blob" | "commit",
  content: Uint8Array,
): Promise<string> => {
  const header = `${type} ${content.length}\0`
  const id = createHash(objectFormat).update(header).update(content).digest("hex")
  const folder = join(gitDir, "objects", id.slice(0, 2))
  const path = join(folder, id.slice(2))
  if (await exists(path)) return id
  const draft = join(gitDir, "objects", `draft-${randomBytes(8).toString("hex")}`)
  await writeFile(draft, await compress(Buffer.concat([Buffer.from(header), content]), { level }), { mode: 0o444 })
  await rename(draft, path).catch(async (error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error
    await mkdir(folder, { recursive: true })
    await rename(draft, path)
  })
  return id
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

export interface CommitSpec {
  readonly tree: string
  readonly parents: ReadonlyArray<string>
  readonly message: string
  readonly author: Identity
  /** Seconds since 1970. */
  readonly seconds: number
}

/** A commit, as git writes it; its id depends on nothing else. */
export const commitText = ({ tree, parents, message, author, seconds }: CommitSpec): Buffer => {
  const who = `${plain(author.name, "svc")} <${plain(author.email, "svc@localhost")}> ${seconds} +0000`
  const head = [`tree ${tree}`, ...parents.map((parent) => `parent ${parent}`), `author ${who}`, `committer ${who}`]
  const text = message.toWellFormed().replaceAll("\0", "").replaceAll("\r\n", "\n").trim()
  return Buffer.from(`${head.join("\n")}\n\n${text === "" ? "No message" : text}\n`, "utf8")
}

/** A name or an address: nothing that would end it, or the line. */
const plain = (text: string, otherwise: string): string => {
  const cleaned = text
    .toWellFormed()
    .replace(/[<>\p{Cc}]/gu, "")
    .replace(/^[\s.,:;"'\\]+|[\s.,:;"'\\]+$/g, "")
  return cleaned === "" ? otherwise : cleaned
}
