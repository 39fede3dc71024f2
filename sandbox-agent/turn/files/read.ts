/** Reads files of the checkout: regular ones, text, and no more than is asked for. */
import { openFile } from "#sandbox-agent/turn/files/folder.ts"
import { locate, type Place } from "#sandbox-agent/turn/files/locate.ts"
import { refusalOf, refuse } from "#sandbox-agent/turn/files/refused.ts"

/** Bytes that are looked at for a NUL, as git does. */
const binaryProbe = 8_000

export interface TextFile {
  readonly text: string
  /** Bytes of the whole file. */
  readonly size: number
  /** The text ends before the file does. */
  readonly cut: boolean
}

export const readText = async (root: string, path: string, maxBytes: number): Promise<TextFile> => {
  await using place = await locate(root, path)
  return await readPlace(place, maxBytes)
}

export const readPlace = async (place: Place, maxBytes: number): Promise<TextFile> => {
  const { target, folder, shown } = place
  if (target.kind === "missing") return refuse("not_found", `${shown}: there is no such file or folder`)
  if (target.kind === "folder") return refuse("wrong_kind", `${shown}: this is a folder`)
  if (!target.stats.isFile()) return refuse("wrong_kind", `${shown}: this is no regular file`)
  try {
    await using file = await openFile(folder, target.name)
    const { size } = await file.stat()
    const bytes = Buffer.alloc(Math.min(size, maxBytes))
    let filled = 0
    while (filled < bytes.length) {
      const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    const cut = size > filled && filled === maxBytes
    return { text: textOf(bytes.subarray(0, filled), cut, size, shown), size, cut }
  } catch (error) {
    throw refusalOf(error, shown)
  }
}

const textOf = (bytes: Buffer, cut: boolean, size: number, shown: string): string => {
  if (bytes.subarray(0, binaryProbe).includes(0)) {
    return refuse("binary", `${shown}: this is a binary file of ${size} bytes`)
  }
  try {
    // a cut may go through a character; the mark of the byte order stays, or writing would lose it
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: cut })
  } catch {
    return refuse("binary", `${shown}: this is a file of ${size} bytes that is no UTF-8 text`)
  }
}
