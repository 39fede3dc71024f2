/**
 * What in the user's working tree stands in the way of going from one commit to another. A file that already
 * is as the new commit has it does not: so an update that was cut off can be asked for again.
 */
import { lstat, readdir } from "node:fs/promises"
import { Effect } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { onDisk, succeeded } from "#runtime/git/failed.ts"
import { absent } from "#runtime/git/folders.ts"
import { longPatience, maxListBytes } from "#runtime/git/limits.ts"
import { type GitOutput, gitIn, type Owner } from "#runtime/git/program.ts"

export interface Step {
  /** A git directory of ours for this tree, with `index` a copy of the user's. */
  readonly gitDir: string
  readonly index: string
  readonly tree: string
  readonly owner: Owner | undefined
  readonly from: string
  readonly to: string
}

/** Runs git on the user's tree with our git directory. */
export const inTree = (step: Step, args: ReadonlyArray<string>, stdin?: string): Effect.Effect<GitOutput> =>
  gitIn({
    gitDir: step.gitDir,
    workTree: step.tree,
    index: step.index,
    args,
    stdin,
    owner: step.owner,
    maxOutput: maxListBytes,
    timeout: longPatience,
  })

const names = (output: Buffer): ReadonlyArray<string> => output.toString("latin1").split("\0").slice(0, -1)

/**
 * The first obstacle, in words, or null: then the index of `step` knows which files are as they should be
 * already, and `read-tree -m -u` will go through.
 */
export const findObstacle = Effect.fnUntraced(function* (step: Step): Effect.fn.Return<string | null, CheckoutFailed> {
  const staged = yield* inTree(step, ["diff-index", "--cached", "-z", "--name-only", "--no-renames", step.from])
  if (staged.code !== 0) return "The index of the working tree cannot be read."
  const [firstStaged] = names(staged.stdout)
  if (firstStaged !== undefined) return `There are staged changes: ${shown(firstStaged)}`
  yield* inTree(step, ["update-index", "-q", "--refresh"])
  const listDirty = ["diff-files", "-z", "--name-only", "--ignore-submodules=all"]
  const dirty = names(yield* succeeded(inTree(step, listDirty), "look at the working tree"))
  const changes = yield* changesOf(step)
  const inTheWay = yield* onDisk(() => filesInTheWay(step.tree, changes))
  if (inTheWay.blocked !== undefined) return untracked(inTheWay.blocked)
  const candidates = [...new Set([...dirty, ...inTheWay.present])]
  if (candidates.length > 0) {
    const different = yield* differentFrom(step, candidates)
    const [first] = different
    if (first !== undefined)
      return dirty.includes(first) ? `There are changes that are not committed: ${shown(first)}` : untracked(first)
    yield* takeAsDone(step, candidates)
  }
  const trial = yield* inTree(step, ["read-tree", "-n", "-m", "-u", step.from, step.to])
  return trial.code === 0 ? null : "Files in the working tree are in the way."
})

const untracked = (path: string): string => `A file that is not in the repository would be overwritten: ${shown(path)}`

/** Paths are bytes as Latin-1. */
const shown = (path: string): string => Buffer.from(path, "latin1").toString("utf8")

interface Changes {
  /** Paths that only the new commit has, or has as something else. */
  readonly added: ReadonlyArray<string>
  /** Paths that only the old commit has, or has as something else. */
  readonly removed: ReadonlySet<string>
}

const changesOf = Effect.fnUntraced(function* (step: Step) {
  const args = ["diff-tree", "-r", "-z", "--name-status", "--no-renames", "--no-ext-diff", step.from, step.to]
  const parts = names(yield* succeeded(inTree(step, args), "compare the commits"))
  const added: Array<string> = []
  const removed = new Set<string>()
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const path = parts[at + 1] ?? ""
    if (parts[at] === "A") added.push(path)
    if (parts[at] === "D" || parts[at] === "T") removed.add(path)
  }
  return { added, removed } satisfies Changes
})

/** Where something is already that the new commit brings; `blocked` is what cannot be what it brings. */
const filesInTheWay = async (top: string, { added, removed }: Changes) => {
  const present: Array<string> = []
  const folders = new Map<string, boolean>()
  /** Is there a folder at the path, or nothing, or something that goes away? */
  const isFree = async (folder: string): Promise<boolean> => {
    const known = folders.get(folder)
    if (known !== undefined) return known
    const found = removed.has(folder) ? undefined : await lstat(bytes(top, folder)).catch(absent)
    const free = found === undefined || found.isDirectory()
    folders.set(folder, free)
    return free
  }
  for (const path of added) {
    const parts = path.split("/")
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join("/")
      if (!(await isFree(folder))) return { present, blocked: folder }
    }
    if (parts.some((_, at) => at > 0 && removed.has(parts.slice(0, at).join("/")))) continue
    const found = await lstat(bytes(top, path)).catch(absent)
    if (found === undefined) continue
    if (!found.isDirectory()) present.push(path)
    else {
      const kept = await keptBelow(top, path, removed)
      if (kept !== undefined) return { present, blocked: kept }
    }
  }
  return { present, blocked: undefined }
}

/** A file below the folder that does not go away with the old commit. */
const keptBelow = async (top: string, folder: string, removed: ReadonlySet<string>): Promise<string | undefined> => {
  for (const entry of await readdir(bytes(top, folder), { withFileTypes: true, encoding: "buffer" })) {
    const path = `${folder}/${entry.name.toString("latin1")}`
    const kept = entry.isDirectory() ? await keptBelow(top, path, removed) : removed.has(path) ? undefined : path
    if (kept !== undefined) return kept
  }
  return undefined
}

const bytes = (top: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path, "latin1")])

/** Those of `paths` that are not, on the disk, as the new commit has them. */
const differentFrom = Effect.fnUntraced(function* (step: Step, paths: ReadonlyArray<string>) {
  const other = { ...step, index: `${step.index}.new` }
  yield* succeeded(inTree(other, ["read-tree", step.to]), "read the merged commit")
  yield* inTree(other, ["update-index", "-q", "--refresh"])
  const listDirty = ["diff-files", "-z", "--name-only", "--ignore-submodules=all"]
  const different = new Set(names(yield* succeeded(inTree(other, listDirty), "look at the working tree")))
  const known = new Set(names(yield* succeeded(inTree(other, ["ls-files", "-z"]), "list the merged files")))
  const there = yield* onDisk(() => Promise.all(paths.map((path) => lstat(bytes(step.tree, path)).catch(absent))))
  return paths.filter((path, at) => (known.has(path) ? different.has(path) : there[at] !== undefined))
})

/** Puts the entries of the new commit into the index, for files that are so on the disk. */
const takeAsDone = Effect.fnUntraced(function* (step: Step, paths: ReadonlyArray<string>) {
  const other = { ...step, index: `${step.index}.new` }
  const listed = yield* succeeded(inTree(other, ["ls-files", "-s", "-z"]), "list the merged files")
  const wanted = new Set(paths)
  const entries = names(listed).filter((line) => wanted.delete(line.slice(line.indexOf("\t") + 1)))
  const none = "0".repeat(step.to.length)
  const lines = [...[...wanted].map((path) => `0 ${none}\t${path}`), ...entries]
  const stdin = Buffer.from(lines.map((line) => `${line}\0`).join(""), "latin1")
  yield* succeeded(
    gitIn({
      gitDir: step.gitDir,
      workTree: step.tree,
      index: step.index,
      args: ["update-index", "-z", "--replace", "--index-info"],
      stdin,
      owner: step.owner,
    }),
    "take up the merged files",
  )
})
