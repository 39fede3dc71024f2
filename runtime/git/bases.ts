/**
 * The files of a commit on the disk, with an index that knows them. With overlays they are written once for
 * all runs that begin there; without, once for each run.
 */
import { lutimes, mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Clock, Duration, Effect } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { checkSize } from "#runtime/git/entries.ts"
import { codeOf, onDisk, succeeded } from "#runtime/git/failed.ts"
import { absent, baseFolder, removeFolder } from "#runtime/git/folders.ts"
import { plainAttributes, writeGitDir } from "#runtime/git/git-dir.ts"
import { longPatience } from "#runtime/git/limits.ts"
import type { Origin } from "#runtime/git/origin.ts"
import { gitIn } from "#runtime/git/program.ts"

/**
 * How much older than its writing a file says it is. What is changed afterwards is newer than the index by
 * seconds, so that git, which compares whole seconds, need not read every file to be sure.
 */
const aging = Duration.minutes(1)

/** How late the clock of the file system may be: a tick of the kernel, and some more. */
const tick = Duration.millis(20)

/** A commit of which git remembers nothing: to read all of its files for every question is less than to wait once. */
const isSmall = ({ files, bytes }: { readonly files: number; readonly bytes: number }): boolean =>
  files <= 1_000 && bytes <= 4_194_304

/** How long a base that no run uses is kept. */
const keep = Duration.hours(1)

/** Writes the files of `commit` into the empty folder `tree`, and `index` for them. */
export const writeFiles = Effect.fn("Checkouts.writeFiles")(function* (spec: {
  readonly gitDir: string
  readonly commit: string
  readonly tree: string
  readonly index: string
}) {
  const { gitDir, tree, index } = spec
  const size = yield* checkSize(gitDir, spec.commit)
  const run = (...args: ReadonlyArray<string>) =>
    gitIn({ gitDir, workTree: tree, index, args, timeout: longPatience, settings: ["checkout.workers=0"] })
  yield* succeeded(run("read-tree", "--reset", "-u", "--end-of-options", spec.commit), "write the files of the commit")
  if (isSmall(size)) {
    yield* succeeded(run("read-tree", "--end-of-options", spec.commit), "forget the times of the files")
    return
  }
  const now = yield* Clock.currentTimeMillis
  yield* onDisk(() => age(Buffer.from(tree), new Date(now - Duration.toMillis(aging))))
  // what is changed from now on is so in another second, whatever time it says it was changed at
  const written = yield* Clock.currentTimeMillis
  yield* Effect.sleep(Duration.sum(Duration.millis(1_000 - (written % 1_000)), tick))
  yield* succeeded(run("update-index", "-q", "--refresh"), "look at the files of the commit")
})

/** The folder with `tree` and `index` of the commit; made where it is not there. */
export const ensureBase = Effect.fn("Checkouts.ensureBase")(function* (
  project: string,
  origin: Origin,
  commit: string,
) {
  const folder = baseFolder(project, commit)
  const now = yield* Clock.currentTimeMillis
  const touched = yield* onDisk(() => utimes(folder, now / 1_000, now / 1_000).then(() => true, absent))
  if (touched === true) return folder
  const draft = yield* onDisk(async () => {
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 })
    return mkdtemp(join(dirname(folder), ".draft-"))
  })
  const made = Effect.gen(function* () {
    const gitDir = join(draft, "git")
    const spec = { alternates: [origin.objects], attributes: plainAttributes, head: commit }
    yield* onDisk(async () => {
      await writeGitDir(gitDir, origin, spec)
      await mkdir(join(draft, "tree"))
    })
    yield* writeFiles({ gitDir, commit, tree: join(draft, "tree"), index: join(draft, "index") })
    yield* onDisk(async () => {
      await rm(gitDir, { recursive: true })
      // another process may have been first: its base is as good
      await rename(draft, folder).catch((error: unknown) => {
        if (codeOf(error) !== "ENOTEMPTY" && codeOf(error) !== "EEXIST") throw error
      })
    })
    return folder
  })
  return yield* made.pipe(Effect.ensuring(Effect.ignore(onDisk(() => rm(draft, { recursive: true, force: true })))))
})

/** Removes bases that no run of `used` begins at and that were not asked for in a while. */
export const removeUnusedBases = Effect.fnUntraced(function* (
  project: string,
  used: ReadonlySet<string>,
): Effect.fn.Return<void, CheckoutFailed> {
  const oldest = (yield* Clock.currentTimeMillis) - Duration.toMillis(keep)
  yield* onDisk(async () => {
    const names = (await readdir(join(project, "bases")).catch(absent)) ?? []
    for (const name of names.filter((name) => !used.has(name))) {
      const folder = join(project, "bases", name)
      const found = await stat(folder).catch(absent)
      if (found !== undefined && found.mtimeMs < oldest) await removeFolder(folder)
    }
  })
})

/** Sets the times of every file below `folder`. Names are bytes. */
const age = async (folder: Buffer, when: Date): Promise<void> => {
  const entries = await readdir(folder, { withFileTypes: true, encoding: "buffer" })
  await Promise.all(
    entries.map((entry) => {
      const path = Buffer.concat([folder, Buffer.from("/"), entry.name])
      return entry.isDirectory() ? age(path, when) : lutimes(path, when, when)
    }),
  )
}
