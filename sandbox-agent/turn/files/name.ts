/**
 * Which names a path of an agent may be made of, judged by the text alone: the same on every system, because a
 * checkout made here may be used on another. What is spelled differently and means `.git` there is `.git` here.
 */

/** Bytes of one name and of a whole path, as most systems have it. */
const maxNameBytes = 255
export const maxPathBytes = 4_096

/** C0, DEL, C1, line and paragraph separators, and what turns the direction of the text around. */
const unprintable = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u
const invisible = /\p{Default_Ignorable_Code_Point}/gu
/** Names that Windows gives to devices, with any extension. */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i

/** Why this name is refused, or undefined. `.` and `..` are the business of who walks. */
export const refusedName = (name: string): string | undefined => {
  if (!name.isWellFormed()) return "it is not valid Unicode"
  if (unprintable.test(name)) return "it has a control character in it"
  if (name.includes("\\")) return "it has a backslash in it; folders are separated by /"
  if (Buffer.byteLength(name) > maxNameBytes) return "a name in it is too long"
  if (isGit(name)) return "the folder of git is not for tools"
  if (process.platform === "win32" && (device.test(name) || name.includes(":"))) return "it names a device or a stream"
  return undefined
}

/**
 * Is this `.git` on some system? Case, compatible forms of characters, what is not seen, trailing dots and
 * spaces, streams of NTFS and its short names are all looked through.
 */
export const isGit = (name: string): boolean => {
  const key = plain(name)
  return key === ".git" || /^git~[0-9]+$/.test(key)
}

const plain = (name: string): string =>
  (name.normalize("NFKC").replace(invisible, "").split(":", 1)[0] ?? "")
    .toLowerCase()
    .replaceAll("ı", "i")
    .replaceAll("\u0307", "")
    .replace(/[. ]+$/u, "")

/** Two names with the same key look alike: to a reader, or to a system that normalises what it stores. */
export const lookAlikeKey = (name: string): string => name.normalize("NFKC").replace(invisible, "")

/** Only such names can have a look-alike that differs by more than case. */
export const isAscii = (name: string): boolean => /^[\u0020-\u007e]*$/.test(name)
