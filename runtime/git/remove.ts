/** Takes checkouts away: one that is no longer needed, and what was left by a service that was killed. */
import { readdir, realpath, stat } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { Clock, Duration, Effect } from "effect"
import type { CheckoutFailed, Place } from "#core/ports/checkouts.ts"
import { removeUnusedBases } from "#runtime/git/bases.ts"
import { failed, onDisk } from "#runtime/git/failed.ts"
import { absent, projectFolder, readRecord, removeAll, removeFolder, runFolder } from "#runtime/git/folders.ts"
import { branchOfRun, isRunId } from "#runtime/git/names.ts"
import { findOrigin, headOf, moveRef } from "#runtime/git/origin.ts"
import { mountedRuns, unmount } from "#runtime/git/overlay.ts"
import { treesWith } from "#runtime/git/user-trees.ts"

/** How long something unfinished is left to whoever may be at it. */
const unfinishedFor = Duration.minutes(10)

/** The folder that is gone. */
export const removeCheckout = Effect.fn("Checkouts.remove")(function* (
  data: string,
  { runId, repository }: Place,
  options: { readonly branch: boolean },
) {
  if (!isRunId(runId)) return yield* failed("invalid", "That is not the id of a run.")
  const path = (yield* onDisk(() => realpath(repository).catch(absent))) ?? repository
  const project = projectFolder(data, path)
  const folder = runFolder(project, runId)
  yield* unmount(folder)
  yield* onDisk(() => removeFolder(folder.path))
  yield* removeUnusedBases(project, yield* usedBases(project))
  if (options.branch) yield* removeBranch(path, branchOfRun(runId))
  return folder.path
})

/** A branch that the user has checked out stays; a repository that is gone has none. */
const removeBranch = Effect.fnUntraced(function* (repository: string, branch: string) {
  const origin = yield* findOrigin(repository).pipe(
    Effect.catchIf(
      ({ kind }) => kind === "not_a_repository",
      () => Effect.void,
    ),
  )
  if (origin === undefined) return
  const ref = `refs/heads/${branch}`
  const head = yield* headOf(origin, ref)
  if (head === null || (yield* treesWith(origin, ref)).length > 0) return
  if (yield* moveRef(origin, ref, head, null, "svc: remove")) return
  if ((yield* headOf(origin, ref)) !== null) {
    return yield* failed("unavailable", "The branch of the run was moved while it was removed.")
  }
})

const foldersIn = (path: string): Effect.Effect<ReadonlyArray<string>, CheckoutFailed> =>
  onDisk(async () => (await readdir(path).catch(absent)) ?? [])

const usedBases = Effect.fnUntraced(function* (project: string) {
  const used = new Set<string>()
  for (const runId of yield* foldersIn(join(project, "runs"))) {
    const record = yield* Effect.orElseSucceed(readRecord(runFolder(project, runId)), () => undefined)
    if (record !== undefined) used.add(record.startCommit)
  }
  return used
})

/** What earlier services left: mounts without a checkout, drafts, folders that were being removed. */
export const clean = Effect.fn("Checkouts.clean")(function* (data: string) {
  const oldest = (yield* Clock.currentTimeMillis) - Duration.toMillis(unfinishedFor)
  const isOld = (path: string) =>
    onDisk(async () => ((await stat(path).catch(absent))?.mtimeMs ?? Number.POSITIVE_INFINITY) < oldest)
  for (const path of yield* mountedRuns(data)) {
    const folder = runFolder(dirname(dirname(path)), basename(path))
    if ((yield* readRecord(folder)) === undefined && (yield* isOld(path))) yield* unmount(folder)
  }
  for (const name of yield* foldersIn(join(data, "git"))) {
    const project = join(data, "git", name)
    const isPartial: Record<string, (left: string) => Effect.Effect<boolean, CheckoutFailed>> = {
      scratch: () => Effect.succeed(true),
      bases: (left) => Effect.succeed(left.startsWith(".")),
      runs: (left) => Effect.map(readRecord(runFolder(project, left)), (record) => record === undefined),
    }
    for (const [part, partial] of Object.entries(isPartial)) {
      for (const left of yield* foldersIn(join(project, part))) {
        const path = join(project, part, left)
        if ((yield* partial(left)) && (yield* isOld(path))) yield* onDisk(() => removeAll(path))
      }
    }
  }
})
