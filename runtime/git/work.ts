/**
 * The work as it is in the tree, as a git tree. git says which files differ; what is in them is read by us,
 * written as objects and put into a copy of the index. Nothing in the tree is run, filtered or followed.
 *
 * A repository inside of the tree is files like any other, without its `.git`. What git cannot keep (pipes,
 * devices, sockets, empty folders, anything named like `.git`) is left out, and so is what is ignored.
 */
import { randomBytes } from "node:crypto"
import { access, link, rm } from "node:fs/promises"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { failed, onDisk, succeeded } from "#runtime/git/failed.ts"
import type { RunFolder } from "#runtime/git/folders.ts"
import { longPatience, maxChangedBytes, maxEntries, maxListBytes, maxNesting } from "#runtime/git/limits.ts"
import { isFilePath, touchesGitFolder } from "#runtime/git/names.ts"
import { writeObject } from "#runtime/git/objects.ts"
import type { Origin } from "#runtime/git/origin.ts"
import { gitIn } from "#runtime/git/program.ts"
import { type Found, readSafely, shown } from "#runtime/git/safe-file.ts"

export interface Work {
  readonly tree: string
  /** An index for that tree, until the scope closes; whoever moves it away keeps it. */
  readonly index: string
  /** Differs from the index of the run, in content or only in what git remembers of the files. */
  readonly touched: boolean
  /** New or changed links that lead out of the tree. */
  readonly escaping: ReadonlyArray<string>
}

/** A file that differs from the index. */
interface Candidate {
  /** Bytes as Latin-1. */
  readonly path: string
  readonly tracked: boolean
}

export const readWork = Effect.fn("Checkouts.readWork")(function* (
  folder: RunFolder,
  origin: Origin,
): Effect.fn.Return<Work, CheckoutFailed, Scope.Scope> {
  const candidates = yield* changedFiles(folder)
  const index = yield* indexCopy(folder)
  const escaping: Array<string> = []
  let bytes = 0
  const store = { gitDir: folder.store, objectFormat: origin.objectFormat }
  const lines = yield* Effect.forEach(
    candidates,
    Effect.fnUntraced(function* ({ path, tracked }) {
      const found = yield* readSafely(folder.tree, path)
      if (found._tag === "File") bytes += found.content.length
      if (bytes > maxChangedBytes) {
        return yield* failed("too_large", `The changed files are more than ${maxChangedBytes} bytes together.`)
      }
      if (found._tag === "Link" && leadsOut(path, found.target)) escaping.push(shown(path))
      const entry = entryOf(found)
      if (entry !== undefined) {
        const id = yield* onDisk(() => writeObject(store, "blob", entry.content))
        return `${entry.mode} ${id} 0\t${path}\0`
      }
      if (!tracked || (found._tag === "Folder" && (yield* isSubmodule(folder, path)))) return ""
      return `0 ${"0".repeat(origin.objectFormat === "sha1" ? 40 : 64)}\t${path}\0`
    }),
    { concurrency: 8 },
  )
  const run = (args: ReadonlyArray<string>, stdin?: Uint8Array) =>
    gitIn({ gitDir: folder.store, index, args, stdin, timeout: longPatience })
  // what is taken out makes room for what is put in
  const changes = [...lines].sort((a, b) => Number(b.startsWith("0 ")) - Number(a.startsWith("0 "))).join("")
  if (changes !== "") {
    const stdin = Buffer.from(changes, "latin1")
    yield* succeeded(run(["update-index", "-z", "--replace", "--index-info"], stdin), "take up the changed files")
  }
  const tree = (yield* succeeded(run(["write-tree"]), "write the tree")).toString("latin1").trim()
  return { tree, index, touched: changes !== "", escaping: escaping.sort() }
})

const entryOf = (found: Found): { readonly mode: string; readonly content: Buffer } | undefined => {
  if (found._tag === "File") return { mode: found.executable ? "100755" : "100644", content: found.content }
  return found._tag === "Link" ? { mode: "120000", content: found.target } : undefined
}

/** git replaces an index, and never writes into one: another name for it is a copy. */
const indexCopy = (folder: RunFolder) =>
  Effect.acquireRelease(
    onDisk(async () => {
      const copy = `${folder.index}.${randomBytes(6).toString("hex")}`
      await link(folder.index, copy)
      return copy
    }),
    (copy) => Effect.ignore(onDisk(() => rm(copy, { force: true }))),
  )

const changedFiles = Effect.fnUntraced(function* (folder: RunFolder) {
  const listed = yield* list(folder, folder.tree, folder.index, ["-t", "-m", "-d", "-o"])
  const found = new Map<string, Candidate>()
  const nested: Array<string> = []
  for (const line of listed) {
    const path = line.slice(2)
    const tracked = !line.startsWith("?")
    if (path.endsWith("/")) nested.push(path)
    else if (!touchesGitFolder(path)) found.set(path, { path, tracked })
  }
  for (const path of yield* filesOfNested(folder, nested, 1)) found.set(path, { path, tracked: false })
  if (found.size > maxEntries) {
    return yield* failed("too_large", `More than ${maxEntries} files were changed.`)
  }
  return [...found.values()]
})

/** The files of repositories inside of the tree; each is listed as if it were the top, with our git directory. */
const filesOfNested: (
  folder: RunFolder,
  repositories: ReadonlyArray<string>,
  depth: number,
) => Effect.Effect<ReadonlyArray<string>, CheckoutFailed> = Effect.fnUntraced(function* (folder, repositories, depth) {
  if (repositories.length > 0 && depth > maxNesting) {
    return yield* failed("too_large", `Repositories are nested more than ${maxNesting} deep.`)
  }
  const files: Array<string> = []
  for (const repository of repositories) {
    const name = shown(repository).slice(0, -1)
    if (touchesGitFolder(name)) continue
    if (!isFilePath(name)) return yield* failed("invalid", "A folder with a repository has a name that cannot be used.")
    const top = join(folder.tree, name)
    const inside = (yield* list(folder, top, join(folder.store, "no-index"), ["-o"])).map((path) => repository + path)
    files.push(...inside.filter((path) => !path.endsWith("/") && !touchesGitFolder(path)))
    files.push(
      ...(yield* filesOfNested(
        folder,
        inside.filter((path) => path.endsWith("/")),
        depth + 1,
      )),
    )
  }
  return files
})

const list = Effect.fnUntraced(function* (folder: RunFolder, top: string, index: string, kinds: ReadonlyArray<string>) {
  const there = yield* onDisk(() =>
    access(top).then(
      () => true,
      () => false,
    ),
  )
  if (!there) return []
  const args = ["ls-files", "-z", ...kinds, "--exclude-standard"]
  const call = { gitDir: folder.store, workTree: top, index, args, maxOutput: maxListBytes, timeout: longPatience }
  const output = yield* succeeded(gitIn(call), "list the changed files")
  return output.toString("latin1").split("\0").slice(0, -1)
})

const isSubmodule = Effect.fnUntraced(function* (folder: RunFolder, path: string) {
  const name = shown(path)
  const args = ["ls-files", "-s", "-z", "--", name]
  const output = yield* succeeded(
    gitIn({ gitDir: folder.store, workTree: folder.tree, index: folder.index, args }),
    "look at a submodule",
  )
  return output.toString("latin1").startsWith("160000 ")
})

/** Would the link, where it lies, point at something outside of the tree? */
const leadsOut = (path: string, target: Buffer): boolean => {
  const text = target.toString("latin1")
  if (text.startsWith("/")) return true
  let depth = path.split("/").length - 1
  for (const part of text.split("/")) {
    if (part === "..") depth -= 1
    else if (part !== "" && part !== ".") depth += 1
    if (depth < 0) return true
  }
  return false
}
