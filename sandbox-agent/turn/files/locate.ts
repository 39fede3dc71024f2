/**
 * Finds what a path means below the root, one name after another, each from the open folder before it. Links are
 * read and followed here, never by the system, so that neither a link nor one that is put there meanwhile leads out.
 */
import type { Stats } from "node:fs"
import { lstat, readlink } from "node:fs/promises"
import { type Folder, openChild, openRoot } from "#sandbox-agent/turn/files/folder.ts"
import { checkName, namesOf, outside, shown } from "#sandbox-agent/turn/files/path.ts"
import { codeOf, refusalOf, refuse } from "#sandbox-agent/turn/files/refused.ts"

/** Links in one path; more are taken for a circle. */
const maxLinks = 20

type Target =
  | { readonly kind: "folder" }
  /** A file, or something that is neither file nor folder. */
  | { readonly kind: "entry"; readonly name: string; readonly stats: Stats }
  /** The names that are not there, the first of them directly in `folder`. */
  | { readonly kind: "missing"; readonly names: readonly [string, ...string[]] }

/** Open until it is disposed of. */
export interface Place extends AsyncDisposable {
  /** As it was asked for, for messages. */
  readonly shown: string
  /** Without links, from the root: two paths to one file have the same. */
  readonly key: string
  readonly folder: Folder
  readonly target: Target
}

export interface LocateOptions {
  /** A link in the last place is itself what is meant: to delete it. */
  readonly linkItself?: boolean
}

export const locate = async (root: string, path: string, options: LocateOptions = {}): Promise<Place> => {
  const names = namesOf(root, path)
  const open: Array<Folder> = []
  try {
    open.push(await openRoot(root))
    const target = await walk(root, path, [...names], open, options.linkItself === true)
    const folder = topOf(open)
    return {
      shown: shown(path),
      key: [...folder.names, ...restOf(target)].join("/"),
      folder,
      target,
      [Symbol.asyncDispose]: () => closeAll(open),
    }
  } catch (error) {
    await closeAll(open)
    throw refusalOf(error, shown(path))
  }
}

const walk = async (
  root: string,
  path: string,
  ahead: Array<string>,
  open: Array<Folder>,
  linkItself: boolean,
): Promise<Target> => {
  let links = 0
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    const folder = topOf(open)
    if (name === "..") {
      if (open.length === 1) refuse("forbidden", outside(path))
      open.pop()
      await folder.close()
      continue
    }
    const stats = await look(folder, name)
    if (stats === undefined) {
      if (ahead.includes("..")) refuse("not_found", `${shown(path)}: there is no such file or folder`)
      return { kind: "missing", names: [name, ...ahead] }
    }
    if (stats.isSymbolicLink() && !(linkItself && ahead.length === 0)) {
      links += 1
      if (links > maxLinks) refuse("forbidden", `${shown(path)}: too many links`)
      ahead.unshift(...namesOfLink(await readlink(folder.at(name)), path))
    } else if (stats.isDirectory()) {
      open.push(await openChild(folder, root, name))
    } else if (ahead.length > 0) {
      refuse("wrong_kind", `${shown(path)}: a part of this path is no folder`)
    } else {
      return { kind: "entry", name, stats }
    }
  }
  return { kind: "folder" }
}

/** A link is made of the same names as a path; one that is absolute leaves, wherever it leads. */
const namesOfLink = (target: string, path: string): ReadonlyArray<string> => {
  if (target.startsWith("/") || /^[a-z]:/i.test(target)) refuse("forbidden", outside(path))
  const names = target.split("/").filter((name) => name !== "" && name !== ".")
  for (const name of names) checkName(name, path)
  return names
}

const look = async (folder: Folder, name: string): Promise<Stats | undefined> => {
  try {
    return await lstat(folder.at(name))
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined
    throw error
  }
}

const restOf = (target: Target): ReadonlyArray<string> => {
  switch (target.kind) {
    case "folder":
      return []
    case "entry":
      return [target.name]
    case "missing":
      return target.names
  }
}

const topOf = (open: ReadonlyArray<Folder>): Folder => open.at(-1) ?? refuse("failed", "No folder is open.")

const closeAll = async (open: ReadonlyArray<Folder>): Promise<void> => {
  for (const folder of open) await folder.close()
}
