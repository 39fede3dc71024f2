/**
 * A package in one file: a ZIP of a few plain files, all at its top. Written the same for the same files, byte for byte. Read
 * without trust: every entry is checked before and while it is inflated, and nothing is written anywhere.
 */
import { buffer } from "node:stream/consumers"
import { Effect } from "effect"
import { type Entry, fromBufferPromise } from "yauzl"
import { ZipFile } from "yazl"
import { because, PackageRefused, refuse } from "#runtime/plugin-host/packages/refused.ts"

export type PackageFiles = ReadonlyMap<string, Uint8Array>

/** Of the archive itself. */
export const maxArchiveBytes = 8 * 1024 * 1024
const maxEntries = 16
const maxEntryBytes = 4 * 1024 * 1024
const maxTotalBytes = 8 * 1024 * 1024
/** Inflated bytes for one of the archive; a real module has 2 to 4. */
const maxRatio = 100

/** One plain name: no folder, no dot in front, nothing that another system reads differently. */
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

/** The least that the format can say: entries have no time of their own. */
const epoch = new Date(Date.UTC(1980, 0, 1))

export const writeArchive = (files: PackageFiles): Effect.Effect<Uint8Array> =>
  Effect.promise(async () => {
    const zip = new ZipFile()
    for (const [name, bytes] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      zip.addBuffer(Buffer.from(bytes), name, { mtime: epoch, mode: 0o100644, forceDosTimestamp: true })
    }
    zip.end()
    return new Uint8Array(await buffer(zip.outputStream))
  })

export const readArchive = (archive: Uint8Array): Effect.Effect<PackageFiles, PackageRefused> =>
  Effect.tryPromise({
    try: () => entriesOf(archive),
    catch: (error) =>
      error instanceof PackageRefused ? error : because("archive", "It is not a ZIP that can be read")(error),
  })

const entriesOf = async (archive: Uint8Array): Promise<PackageFiles> => {
  if (archive.length > maxArchiveBytes) throw tooLarge(`The archive has ${archive.length} bytes`, maxArchiveBytes)
  const zip = await fromBufferPromise(Buffer.from(archive), { lazyEntries: true, strictFileNames: true })
  if (zip.entryCount > maxEntries) throw tooLarge(`The archive has ${zip.entryCount} entries`, maxEntries)
  const files = new Map<string, Uint8Array>()
  const seen = new Set<string>()
  let total = 0
  for await (const entry of zip.eachEntry()) {
    const problem = problemOf(entry, seen)
    if (problem !== undefined) throw refuse("archive", `The entry ${JSON.stringify(entry.fileName)} ${problem}.`)
    seen.add(entry.fileName.toLowerCase())
    total += entry.uncompressedSize
    if (total > maxTotalBytes) throw tooLarge("The entries together have more bytes", maxTotalBytes)
    // it stops at the size that the entry claims: one that inflates to more is an error
    files.set(entry.fileName, new Uint8Array(await buffer(await zip.openReadStreamPromise(entry))))
  }
  return files
}

const symbolicLinkOrWorse = (entry: Entry): boolean => {
  const unixType = (entry.externalFileAttributes >>> 16) & 0o170000
  return unixType !== 0 && unixType !== 0o100000
}

const problemOf = (entry: Entry, seen: ReadonlySet<string>): string | undefined => {
  if (!nameForm.test(entry.fileName)) return "is not a plain file name at the top of the archive"
  if (seen.has(entry.fileName.toLowerCase())) return "is there twice"
  if (symbolicLinkOrWorse(entry)) return "is not a plain file"
  if (entry.isEncrypted()) return "is encrypted"
  if (entry.uncompressedSize > maxEntryBytes) return `has more than ${maxEntryBytes} bytes`
  if (entry.uncompressedSize > maxRatio * Math.max(entry.compressedSize, 1))
    return `inflates more than ${maxRatio} times`
  return undefined
}

const tooLarge = (what: string, most: number) => refuse("archive", `${what}: at most ${most} are allowed.`)
