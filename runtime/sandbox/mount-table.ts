/** What is mounted where, as the kernel tells it (proc(5), mountinfo). */
import { readFile } from "node:fs/promises"

interface Mounted {
  readonly path: string
  readonly options: ReadonlyArray<string>
}

export interface MountTable {
  /** An option that whoever may not mount cannot take away must be repeated when a folder is shown again. */
  readonly isNoexec: (path: string) => boolean
  /** Mount points inside of a folder. */
  readonly below: (folder: string) => ReadonlyArray<string>
}

export const isInside = (path: string, folder: string): boolean =>
  folder === "/" ? path !== "/" : path.startsWith(`${folder}/`)

export const parseMountTable = (text: string): MountTable => {
  const table = text.split("\n").flatMap((line): ReadonlyArray<Mounted> => {
    const [, , , , path, options] = line.split(" ")
    return path === undefined || options === undefined ? [] : [{ path: unescaped(path), options: options.split(",") }]
  })
  return {
    isNoexec: (path) => {
      let nearest: Mounted | undefined
      for (const mounted of table) {
        if (mounted.path !== path && !isInside(path, mounted.path)) continue
        // a later one at the same place hides the earlier
        if (nearest === undefined || mounted.path.length >= nearest.path.length) nearest = mounted
      }
      return nearest?.options.includes("noexec") ?? false
    },
    below: (folder) => [...new Set(table.map(({ path }) => path).filter((path) => isInside(path, folder)))],
  }
}

export const readMountTable = async (): Promise<MountTable> =>
  parseMountTable(await readFile("/proc/self/mountinfo", "utf8"))

const unescaped = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
