/**
 * Where the work of a run lies below the data folder:
 *
 *     git/{hash of the repository's path}/
 *       bases/{commit}/tree, index      files of a commit, shared by runs, never changed
 *       runs/{runId}/tree               where the agent works
 *                    upper, work        what it changed, and room for the kernel, with an overlay
 *                    store              the git directory of the service: objects, refs, index
 *                    view               the one that the agent's git reads
 *                    run.json           written last: with it the checkout is complete
 */
import { createHash, randomBytes } from "node:crypto"
import { chmod, lstat, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Effect, Schema } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { codeOf, failed, onDisk } from "#runtime/git/failed.ts"

export interface RunFolder {
  readonly path: string
  readonly tree: string
  readonly upper: string
  readonly work: string
  readonly store: string
  readonly index: string
  readonly view: string
  readonly record: string
}

export const projectFolder = (data: string, repository: string): string =>
  join(data, "git", createHash("sha256").update(repository).digest("hex").slice(0, 32))

export const baseFolder = (project: string, commit: string): string => join(project, "bases", commit)

export const runFolder = (project: string, runId: string): RunFolder => {
  const path = join(project, "runs", runId)
  return {
    path,
    tree: join(path, "tree"),
    upper: join(path, "upper"),
    work: join(path, "work"),
    store: join(path, "store"),
    index: join(path, "store", "index"),
    view: join(path, "view"),
    record: join(path, "run.json"),
  }
}

export const kinds = ["overlay", "shared-clone"] as const
export type Kind = (typeof kinds)[number]

const RunRecord = Schema.Struct({
  runId: Schema.String,
  repository: Schema.String,
  /** What was asked for: the name of a branch, or a commit. */
  base: Schema.String,
  baseCommit: Schema.String,
  /** The commit whose files the checkout began with: the base, or what the branch of the run already held. */
  startCommit: Schema.String,
  kind: Schema.Literals(kinds),
})
export type RunRecord = typeof RunRecord.Type
const decodeRecord = Schema.decodeUnknownEffect(Schema.fromJsonString(RunRecord))

/** Undefined where the checkout was not completed. */
export const readRecord = Effect.fnUntraced(function* (
  folder: RunFolder,
): Effect.fn.Return<RunRecord | undefined, CheckoutFailed> {
  const text = yield* onDisk(() => readFile(folder.record, "utf8").catch(absent))
  if (text === undefined) return undefined
  return yield* Effect.mapError(decodeRecord(text), () =>
    failed("unavailable", "What is recorded of the checkout cannot be read."),
  )
})

export const writeRecord = (folder: RunFolder, record: RunRecord): Effect.Effect<void, CheckoutFailed> =>
  onDisk(() => writeWhole(folder.record, JSON.stringify(record)))

/** In one step: the file has the old content or the new one. */
export const writeWhole = async (path: string, content: string): Promise<void> => {
  const draft = `${path}.${randomBytes(6).toString("hex")}`
  await writeFile(draft, content, { mode: 0o600 })
  await rename(draft, path)
}

export const absent = (error: unknown): undefined => {
  if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined
  throw error
}

/** Removes a folder with all in it, in one step for those who look for it; does nothing where there is none. */
export const removeFolder = async (path: string): Promise<void> => {
  const gone = join(dirname(path), `.gone-${randomBytes(6).toString("hex")}`)
  const moved = await rename(path, gone).then(() => true, absent)
  if (moved === true) await removeAll(gone)
}

/** Also where an agent took the rights to its folders away. */
export const removeAll = async (path: string): Promise<void> => {
  try {
    await rm(path, { recursive: true, force: true })
  } catch (error) {
    if (codeOf(error) !== "EACCES" && codeOf(error) !== "EPERM") throw error
    await openFolders(path)
    await rm(path, { recursive: true, force: true })
  }
}

const openFolders = async (path: string): Promise<void> => {
  if (!(await lstat(path)).isDirectory()) return
  await chmod(path, 0o700)
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await openFolders(join(path, entry.name))
  }
}
