/**
 * The lock that git itself takes on an index, held by us: while it is there no git command of the user
 * changes the tree, and no other replica. A lock that was left behind is removed when it is old enough and no
 * process of this machine can be its owner.
 */
import { randomBytes } from "node:crypto"
import { type FileHandle, open, readdir, readFile, readlink, rename, rm, stat } from "node:fs/promises"
import { Clock, Duration, Effect, type Scope } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { codeOf, onDisk } from "#runtime/git/failed.ts"
import { absent } from "#runtime/git/folders.ts"
import type { Owner } from "#runtime/git/program.ts"
import type { UserTree } from "#runtime/git/user-trees.ts"

export interface IndexLock {
  /** Makes `content` the index, in one step, and gives the lock up. */
  readonly replace: (content: Uint8Array) => Effect.Effect<void, CheckoutFailed>
}

/** Undefined where somebody else holds it. Given up when the scope closes. */
export const lockIndex = Effect.fnUntraced(function* (
  tree: UserTree,
  owner: Owner | undefined,
  staleAfter: Duration.Duration,
): Effect.fn.Return<IndexLock | undefined, CheckoutFailed, Scope.Scope> {
  const path = `${tree.index}.lock`
  const first = yield* take(path)
  if (first !== undefined) return lockOf(first, path, tree, owner)
  if (!(yield* removeStale(path, tree, staleAfter))) return undefined
  const second = yield* take(path)
  return second === undefined ? undefined : lockOf(second, path, tree, owner)
})

interface Held {
  readonly file: FileHandle
  replaced: boolean
}

const take = (path: string) =>
  Effect.acquireRelease(
    onDisk(
      (): Promise<Held | undefined> =>
        open(path, "wx", 0o644).then(
          (file) => ({ file, replaced: false }),
          (error: unknown) => {
            if (codeOf(error) === "EEXIST") return undefined
            throw error
          },
        ),
    ),
    (held) =>
      held === undefined
        ? Effect.void
        : Effect.ignore(
            onDisk(async () => {
              await held.file.close()
              if (!held.replaced) await rm(path, { force: true })
            }),
          ),
  )

const lockOf = (held: Held, path: string, tree: UserTree, owner: Owner | undefined): IndexLock => ({
  replace: (content) =>
    onDisk(async () => {
      await held.file.writeFile(content)
      if (owner !== undefined) await held.file.chown(owner.uid, owner.gid)
      await held.file.sync()
      await rename(path, tree.index)
      held.replaced = true
    }),
})

const removeStale = Effect.fnUntraced(function* (path: string, tree: UserTree, staleAfter: Duration.Duration) {
  const now = yield* Clock.currentTimeMillis
  return yield* onDisk(async () => {
    const seen = await stat(path).catch(absent)
    if (seen === undefined) return true
    if (now - seen.mtimeMs < Duration.toMillis(staleAfter) || (await mayBeHeld(path, tree))) return false
    // somebody may have removed the same one and taken a new one meanwhile: that one is put back
    const aside = `${path}.${randomBytes(6).toString("hex")}`
    await rename(path, aside)
    if ((await stat(aside)).ino !== seen.ino) {
      await rename(aside, path)
      return false
    }
    await rm(aside)
    return true
  })
})

/**
 * Has a process the lock open, or is there a git at work in the tree (which may wait for an editor with the
 * lock closed)? Yes also where that cannot be known.
 */
const mayBeHeld = async (path: string, tree: UserTree): Promise<boolean> => {
  if (process.platform !== "linux") return true
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(pids.map(async (pid) => (await hasOpen(pid, path)) || (await isGitIn(pid, tree))))
  return found.includes(true)
}

const hasOpen = async (pid: string, path: string): Promise<boolean> => {
  const files = await readdir(`/proc/${pid}/fd`).catch(() => [])
  const targets = await Promise.all(files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => "")))
  return targets.includes(path)
}

const isGitIn = async (pid: string, { path, gitDir }: UserTree): Promise<boolean> => {
  const name = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")
  if (!name.startsWith("git") || (await parentOf(pid)) === process.pid) return false
  const folder = await readlink(`/proc/${pid}/cwd`).catch((error: unknown) => codeOf(error) ?? "")
  if (folder === "EACCES" || folder === "EPERM") return true
  return [path, gitDir].some((top) => folder === top || folder.startsWith(`${top}/`))
}

const parentOf = async (pid: string): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")
  // behind the name of the program, which is in brackets and may contain anything
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
}
