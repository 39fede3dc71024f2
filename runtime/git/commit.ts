/** Commits the work of a run: objects, then the user's repository by compare-and-swap, then our own state. */
import { copyFile, rename } from "node:fs/promises"
import { join } from "node:path"
import { Clock, Effect, type Scope } from "effect"
import type { CheckoutFailed, Identity, Snapshot } from "#core/ports/checkouts.ts"
import { failed, onDisk, succeeded } from "#runtime/git/failed.ts"
import { branchOfRun } from "#runtime/git/names.ts"
import { commitText, writeObject } from "#runtime/git/objects.ts"
import { headOf, moveRef } from "#runtime/git/origin.ts"
import type { Opened } from "#runtime/git/prepare.ts"
import { gitIn } from "#runtime/git/program.ts"
import { readHead, readPending, removePending, writeHead, writePending } from "#runtime/git/run-refs.ts"
import { publishObjects } from "#runtime/git/transfer.ts"
import { readWork, type Work } from "#runtime/git/work.ts"

/** The tree of each commit. */
export const treesOf = Effect.fnUntraced(function* (gitDir: string, commits: ReadonlyArray<string>) {
  const args = ["rev-parse", "--end-of-options", ...commits.map((commit) => `${commit}^{tree}`)]
  const output = yield* succeeded(gitIn({ gitDir, args }), "read the commits of the checkout")
  // newer versions repeat the option
  return output
    .toString("latin1")
    .split("\n")
    .filter((line) => /^[0-9a-f]+$/.test(line))
})

export const commitWork = Effect.fn("Checkouts.commit")(function* (
  opened: Opened,
  message: string,
  author: Identity,
): Effect.fn.Return<Snapshot, CheckoutFailed, Scope.Scope> {
  const { folder, origin, record } = opened
  yield* completePublication(opened)
  const head = yield* readHead(folder, record.runId)
  const work = yield* readWork(folder, origin)
  const [headTree, baseTree] = yield* treesOf(folder.store, [head, record.baseCommit])
  const snapshot = { treeHash: work.tree, hasChanges: work.tree !== baseTree }
  if (work.tree === headTree) {
    if (work.touched) yield* adoptIndex(opened, work)
    return { ...snapshot, commit: head }
  }
  const [escaping] = work.escaping
  if (escaping !== undefined) {
    return yield* failed("invalid", `A link leads out of the repository: ${escaping}. Remove it, or let git ignore it.`)
  }
  const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
  const text = commitText({ tree: work.tree, parents: [head], message, author, seconds })
  const store = { gitDir: folder.store, objectFormat: origin.objectFormat }
  const commit = yield* onDisk(() => writeObject(store, "commit", text))
  yield* writePending(folder, commit)
  yield* publishObjects(origin, folder.store, [commit], [head])
  yield* publishBranch(opened, head, commit)
  yield* writeHead(folder, record.runId, commit)
  yield* removePending(folder)
  yield* adoptIndex(opened, work)
  return { ...snapshot, commit }
})

/** A branch that somebody removed is made again; one that somebody moved is left to them. */
const publishBranch = Effect.fnUntraced(function* ({ origin, record }: Opened, from: string, to: string) {
  const ref = `refs/heads/${branchOfRun(record.runId)}`
  const why = "svc: commit"
  if (yield* moveRef(origin, ref, from, to, why)) return
  const now = yield* headOf(origin, ref)
  if (now === to || (now === null && (yield* moveRef(origin, ref, null, to, why)))) return
  return yield* failed("unavailable", "The branch of the run was moved by somebody else.")
})

/** The service may have ended between the two: the user's repository says whether the commit counts. */
const completePublication = Effect.fnUntraced(function* ({ folder, origin, record }: Opened) {
  const pending = yield* readPending(folder)
  if (pending === null) return
  const published = yield* headOf(origin, `refs/heads/${branchOfRun(record.runId)}`)
  if (published === pending) yield* writeHead(folder, record.runId, pending)
  yield* removePending(folder)
})

/**
 * What is committed is what changes are compared with from now on. Of the committed files nothing but the content is
 * remembered: an agent can set their times, and within a second git could not tell.
 */
const adoptIndex = ({ folder }: Opened, { index }: Work) =>
  onDisk(async () => {
    const draft = join(folder.view, "index.new")
    await copyFile(index, draft)
    await rename(draft, join(folder.view, "index"))
    await rename(index, folder.index)
  })
