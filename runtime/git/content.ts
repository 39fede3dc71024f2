/** The files of a tree: which there are, and what is in one. Read from the objects, never from the disk. */
import { Effect } from "effect"
import type { CheckoutFailed, FileContent, TreeNode } from "#core/ports/checkouts.ts"
import type { Change } from "#runtime/git/diff.ts"
import { failed, succeeded } from "#runtime/git/failed.ts"
import { languageOf } from "#runtime/git/language.ts"
import { maxListBytes, maxShownBytes, probeBytes } from "#runtime/git/limits.ts"
import { gitIn } from "#runtime/git/program.ts"

interface Entry {
  readonly type: string
  readonly id: string
  /** Bytes; NaN for what is not a file. */
  readonly size: number
  readonly path: string
}

const listTree = Effect.fnUntraced(function* (
  gitDir: string,
  tree: string,
  options: ReadonlyArray<string>,
  path?: string,
) {
  const args = ["ls-tree", "-z", "-l", "--full-tree", ...options, "--end-of-options", tree]
  const only = path === undefined ? [] : ["--", path]
  const output = yield* succeeded(
    gitIn({ gitDir, args: [...args, ...only], maxOutput: maxListBytes }),
    "list the files",
  )
  return output
    .toString("utf8")
    .split("\0")
    .slice(0, -1)
    .map((line): Entry => {
      const tab = line.indexOf("\t")
      const [, type = "", id = "", size = ""] = line.slice(0, tab).split(/ +/)
      return { type, id, size: Number(size), path: line.slice(tab + 1) }
    })
})

/** The content of one file; a link's is where it points to. */
export const readContent = Effect.fnUntraced(function* (
  gitDir: string,
  tree: string,
  path: string,
): Effect.fn.Return<FileContent, CheckoutFailed> {
  const [entry] = yield* listTree(gitDir, tree, [], path)
  if (entry === undefined || entry.type !== "blob" || entry.path !== path) {
    return yield* failed("not_found", "There is no such file.")
  }
  if (entry.size > maxShownBytes) return { path, content: null, isBinary: false, language: "too_large" }
  const output = yield* succeeded(
    gitIn({ gitDir, args: ["cat-file", "blob", "--end-of-options", entry.id], maxOutput: maxShownBytes }),
    "read the file",
  )
  const isBinary = output.subarray(0, probeBytes).includes(0)
  return {
    path,
    content: isBinary ? null : output.toString("utf8"),
    isBinary,
    language: isBinary ? null : languageOf(path),
  }
})

/** All files and folders of a tree, with those that `changes` say were removed. Sorted by path. */
export const readTree = Effect.fnUntraced(function* (
  gitDir: string,
  tree: string,
  changes: ReadonlyArray<Change>,
): Effect.fn.Return<ReadonlyArray<TreeNode>, CheckoutFailed> {
  const changed = new Map(changes.map((change) => [change.path, change]))
  const nodes = new Map<string, TreeNode>()
  const add = (path: string, isFolder: boolean): void => {
    const change = isFolder ? undefined : changed.get(path)
    const { status = null, addedLines = 0, removedLines = 0 } = change ?? {}
    nodes.set(path, { path, isFolder, status, addedLines, removedLines })
  }
  for (const entry of yield* listTree(gitDir, tree, ["-r", "-t"])) add(entry.path, entry.type !== "blob")
  for (const { path, status } of changes) {
    if (status !== "deleted" || nodes.has(path)) continue
    for (const folder of foldersOf(path)) if (!nodes.has(folder)) add(folder, true)
    add(path, false)
  }
  return [...nodes.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
})

const foldersOf = (path: string): ReadonlyArray<string> => {
  const parts = path.split("/").slice(0, -1)
  return parts.map((_, at) => parts.slice(0, at + 1).join("/"))
}
