/** A git directory for one operation: what it makes is gone afterwards, unless it was published. */
import { chown, mkdir, mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { onDisk } from "#runtime/git/failed.ts"
import { plainAttributes, userAttributes, writeGitDir } from "#runtime/git/git-dir.ts"
import type { Origin } from "#runtime/git/origin.ts"
import type { Owner } from "#runtime/git/program.ts"

const folder = (make: () => Promise<string>): Effect.Effect<string, CheckoutFailed, Scope.Scope> =>
  Effect.acquireRelease(onDisk(make), (path) => Effect.ignore(onDisk(() => rm(path, { recursive: true, force: true }))))

/** Below `project`, where what a killed service leaves is found again. */
const below = (project: string) =>
  folder(async () => {
    await mkdir(join(project, "scratch"), { recursive: true, mode: 0o700 })
    return mkdtemp(join(project, "scratch", "merge-"))
  })

/** For merges. */
export const scratchForMerges = Effect.fnUntraced(function* (project: string, origin: Origin) {
  const path = yield* below(project)
  const gitDir = join(path, "git")
  yield* onDisk(() => writeGitDir(gitDir, origin, { alternates: [origin.objects], attributes: plainAttributes }))
  return gitDir
})

/** For the working tree of the user: its owner must be able to use it. `core` are settings of theirs. */
export const scratchForUserTree = Effect.fnUntraced(function* (
  project: string,
  origin: Origin,
  core: ReadonlyArray<string>,
) {
  // others cannot look into the data folder
  const path = yield* origin.owner === undefined ? below(project) : folder(() => mkdtemp(join(tmpdir(), "svc-merge-")))
  const gitDir = join(path, "git")
  yield* onDisk(async () => {
    await writeGitDir(gitDir, origin, { alternates: [origin.objects], attributes: userAttributes, core })
    if (origin.owner !== undefined) await giveTo(path, origin.owner)
  })
  return gitDir
})

const giveTo = async (path: string, { uid, gid }: Owner): Promise<void> => {
  const inside = await readdir(path, { recursive: true })
  for (const name of ["", ...inside]) await chown(join(path, name), uid, gid)
}
