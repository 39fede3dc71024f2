/** Makes the checkout of a run, and finds it again: after a restart, after a reboot, with all the work in it. */
import { copyFile, link, mkdir, readFile, realpath, writeFile } from "node:fs/promises"
import { isAbsolute, join, resolve } from "node:path"
import { Effect } from "effect"
import type { Checkout, CheckoutFailed, Place } from "#core/ports/checkouts.ts"
import type { Mount } from "#core/ports/sandbox.ts"
import { ensureBase, writeFiles } from "#runtime/git/bases.ts"
import { failed, onDisk, succeeded } from "#runtime/git/failed.ts"
import {
  absent,
  baseFolder,
  type Kind,
  projectFolder,
  type RunFolder,
  type RunRecord,
  readRecord,
  removeFolder,
  runFolder,
  writeRecord,
} from "#runtime/git/folders.ts"
import { plainAttributes, writeGitDir } from "#runtime/git/git-dir.ts"
import { branchOfRun, isRunId } from "#runtime/git/names.ts"
import { findOrigin, moveRef, type Origin, resolveBase } from "#runtime/git/origin.ts"
import { isMounted, mountOverlay, unmount } from "#runtime/git/overlay.ts"
import { gitIn } from "#runtime/git/program.ts"
import { writeHead } from "#runtime/git/run-refs.ts"

/** What the service knows of a run's checkout, beside what it tells. */
export interface Opened {
  readonly folder: RunFolder
  readonly origin: Origin
  readonly record: RunRecord
}

const locate = Effect.fnUntraced(function* (data: string, { runId, repository }: Place) {
  if (!isRunId(runId)) return yield* failed("invalid", "That is not the id of a run.")
  const origin = yield* findOrigin(repository)
  const project = projectFolder(data, origin.repository)
  return { origin, project, folder: runFolder(project, runId) }
})

/** Is told of a folder before something is mounted there, so that a mount is known whatever interrupts its making. */
export type Mounting = (folder: RunFolder) => void

/** The checkout that is there, mounted; `not_found` where it was not completed. */
export const openCheckout = Effect.fn("Checkouts.open")(function* (
  data: string,
  place: Place,
  mounting: Mounting,
): Effect.fn.Return<Opened, CheckoutFailed> {
  const { folder, origin, project } = yield* locate(data, place)
  const record = yield* readRecord(folder)
  if (record === undefined) return yield* failed("not_found", "The run has no checkout.")
  if (record.kind === "overlay") {
    mounting(folder)
    if (!(yield* isMounted(folder))) {
      yield* mountOverlay(folder, join(baseFolder(project, record.startCommit), "tree"))
    }
  }
  return { folder, origin, record }
})

export const makeCheckout = Effect.fn("Checkouts.make")(function* (
  data: string,
  spec: Place & { readonly base: string },
  kind: Kind,
  lockBase: <A>(effect: Effect.Effect<A, CheckoutFailed>) => Effect.Effect<A, CheckoutFailed>,
  mounting: Mounting,
): Effect.fn.Return<Opened, CheckoutFailed> {
  const { folder, origin, project } = yield* locate(data, spec)
  if ((yield* readRecord(folder)) !== undefined) return yield* openCheckout(data, spec, mounting)
  const ref = `refs/heads/${branchOfRun(spec.runId)}`
  const { commit: asked, beside: published } = yield* resolveBase(origin, spec.base, ref)
  const startCommit = published ?? asked
  const baseCommit = published === null ? asked : yield* mergeBase(origin, published, asked)
  // what an attempt left that did not come to its end
  yield* unmount(folder)
  yield* onDisk(() => removeFolder(folder.path))
  yield* onDisk(() => writeGitDirs(folder, origin, ref))
  yield* writeHead(folder, spec.runId, startCommit)
  if (kind === "overlay") {
    const base = yield* lockBase(ensureBase(project, origin, startCommit))
    yield* onDisk(async () => {
      await Promise.all([mkdir(folder.upper), mkdir(folder.work), mkdir(folder.tree)])
      await link(join(base, "index"), folder.index)
      await pointToView(folder.upper, folder)
    })
    mounting(folder)
    yield* mountOverlay(folder, join(base, "tree"))
  } else {
    yield* onDisk(() => mkdir(folder.tree))
    yield* writeFiles({ gitDir: folder.store, commit: startCommit, tree: folder.tree, index: folder.index })
    yield* onDisk(() => pointToView(folder.tree, folder))
  }
  yield* onDisk(() => copyFile(folder.index, join(folder.view, "index")))
  if (published === null && !(yield* moveRef(origin, ref, null, startCommit, "svc: begin"))) {
    return yield* failed("unavailable", "The branch of the run was made by somebody else meanwhile.")
  }
  const record = { runId: spec.runId, repository: origin.repository, base: spec.base, baseCommit, startCommit, kind }
  yield* writeRecord(folder, record)
  return { folder, origin, record }
})

const writeGitDirs = async (folder: RunFolder, origin: Origin, head: string): Promise<void> => {
  await mkdir(folder.path, { recursive: true, mode: 0o700 })
  await writeGitDir(folder.store, origin, { alternates: [origin.objects], attributes: plainAttributes, head })
  await writeGitDir(folder.view, origin, {
    alternates: [join(folder.store, "objects")],
    attributes: plainAttributes,
    head,
    // in a sandbox the same files have other owners and other times of change
    core: ["checkStat = minimal", "trustctime = false"],
  })
}

/** What git in the tree finds: for the agent only, the service never reads it. */
const pointToView = (top: string, folder: RunFolder): Promise<void> =>
  writeFile(join(top, ".git"), `gitdir: ${folder.view}\n`)

const mergeBase = Effect.fnUntraced(function* (origin: Origin, one: string, other: string) {
  const call = { gitDir: origin.gitDir, args: ["merge-base", one, other], owner: origin.owner }
  const output = yield* succeeded(gitIn(call), "find where the branch of the run began")
  return output.toString("latin1").trim()
})

export const describeCheckout = ({ folder, origin, record }: Opened): Effect.Effect<Checkout, CheckoutFailed> =>
  onDisk(async () => ({
    runId: record.runId,
    repository: origin.repository,
    path: await realpath(folder.tree),
    branch: branchOfRun(record.runId),
    baseCommit: record.baseCommit,
    mounts: await mountsOf(folder, origin),
    kind: record.kind,
  }))

/** The agent's git reads its own git directory and objects; of the user's repository it sees nothing else. */
const mountsOf = async (folder: RunFolder, origin: Origin): Promise<ReadonlyArray<Mount>> => {
  const paths = [folder.view, join(folder.store, "objects"), origin.objects, ...(await alternatesOf(origin.objects))]
  return paths.map((path) => ({ path, writable: false }))
}

const alternatesOf = async (objects: string): Promise<ReadonlyArray<string>> => {
  const text = (await readFile(join(objects, "info/alternates"), "utf8").catch(absent)) ?? ""
  const found = text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#") && !line.startsWith('"'))
    .map((line) => (isAbsolute(line) ? line : resolve(objects, line)))
  const there = await Promise.all(found.map((path) => realpath(path).catch(absent)))
  return there.filter((path) => path !== undefined)
}
