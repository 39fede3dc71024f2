/**
 * Merges a commit into a branch of the user's repository, once. The branch is moved by compare-and-swap; where
 * it moved meanwhile the merge is done again on its new head. Where it is checked out, the working tree goes
 * with it, or nothing happens.
 */
import { Clock, type Duration, Effect, Schedule, type Scope } from "effect"
import type { CheckoutFailed, Identity, MergeResult } from "#core/ports/checkouts.ts"
import { treesOf } from "#runtime/git/commit.ts"
import { checkCount } from "#runtime/git/entries.ts"
import { failed, onDisk } from "#runtime/git/failed.ts"
import { projectFolder } from "#runtime/git/folders.ts"
import { indexIs, type Merge, type Mode, mergeOf, reflogMessage } from "#runtime/git/merge-record.ts"
import { checkCommits, checkObjects, contains, mergeTrees } from "#runtime/git/merging.ts"
import { branchRef } from "#runtime/git/names.ts"
import { commitText, writeObject } from "#runtime/git/objects.ts"
import { findOrigin, headOf, moveRef, type Origin } from "#runtime/git/origin.ts"
import { scratchForMerges } from "#runtime/git/scratch.ts"
import { publishObjects } from "#runtime/git/transfer.ts"
import { updateTree } from "#runtime/git/update-tree.ts"
import { describeTree, treesWith, underWay } from "#runtime/git/user-trees.ts"

export interface MergeSpec {
  readonly repository: string
  readonly branch: string
  readonly commit: string
  readonly message: string
  readonly author: Identity
}

/** How often a merge is done again because the branch was moved meanwhile. */
const maxAttempts = 20

interface Job {
  readonly spec: MergeSpec
  readonly origin: Origin
  readonly ref: string
  readonly project: string
  /** Where the merge is made. */
  readonly gitDir: string
  readonly staleAfter: Duration.Duration
}

export const mergeCommit = Effect.fn("Checkouts.merge")(function* (
  data: string,
  spec: MergeSpec,
  staleAfter: Duration.Duration,
): Effect.fn.Return<MergeResult, CheckoutFailed, Scope.Scope> {
  const origin = yield* findOrigin(spec.repository)
  const ref = yield* branchRef(spec.branch)
  const project = projectFolder(data, origin.repository)
  const gitDir = yield* scratchForMerges(project, origin)
  yield* checkCommits(gitDir, [spec.commit])
  const job = { spec, origin, ref, project, gitDir, staleAfter }
  const again = Schedule.min([Schedule.exponential("5 millis"), Schedule.spaced("200 millis")]).pipe(
    Schedule.jittered,
    Schedule.upTo({ times: maxAttempts }),
  )
  const result = yield* attempt(job).pipe(Effect.repeat({ schedule: again, while: (outcome) => outcome === "moved" }))
  if (result !== "moved") return result
  return { _tag: "Blocked", reason: "The branch is moved again and again while it is merged into." }
})

/** `moved`: the branch is not where it was, and nothing was changed. */
const attempt: (job: Job) => Effect.Effect<MergeResult | "moved", CheckoutFailed, Scope.Scope> = Effect.fnUntraced(
  function* (job) {
    const { origin, ref, spec, gitDir } = job
    const head = yield* headOf(origin, ref)
    if (head === null) return yield* failed("unknown_branch", `The repository has no branch ${spec.branch}.`)
    if (yield* contains(gitDir, head, spec.commit)) return yield* alreadyMerged(job, head)
    yield* checkCount(gitDir, spec.commit)
    yield* checkObjects(gitDir, [spec.commit], head)
    const merged = yield* mergeTrees(gitDir, head, spec.commit)
    switch (merged._tag) {
      case "Conflict":
        return { _tag: "Conflict", reason: "Both sides changed the same files.", files: merged.files }
      case "Unrelated":
        return { _tag: "Conflict", reason: "The commit and the branch have no history in common.", files: [] }
      case "Clean":
        return yield* place(job, head, merged.tree)
    }
  },
)

const place = Effect.fnUntraced(function* (
  { spec, origin, ref, project, gitDir, staleAfter }: Job,
  head: string,
  tree: string,
): Effect.fn.Return<MergeResult | "moved", CheckoutFailed, Scope.Scope> {
  const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
  const text = commitText({ tree, parents: [head, spec.commit], message: spec.message, author: spec.author, seconds })
  const commit = yield* onDisk(() => writeObject({ gitDir, objectFormat: origin.objectFormat }, "commit", text))
  const paths = yield* treesWith(origin, ref)
  const mode: Mode = paths.length === 0 ? "ref-only" : "working-tree-reset"
  const publish = publishObjects(origin, gitDir, [commit], [head, spec.commit])
  const move = moveRef(origin, ref, head, commit, reflogMessage(spec.commit, mode))
  const merged: MergeResult = { _tag: "Merged", commit, previousHead: head, mode }
  const [path, other] = paths
  if (path === undefined) {
    const busy = yield* underWay(origin, ref, [])
    if (busy !== null) return { _tag: "Blocked", reason: `With the branch ${busy} is under way.` }
    yield* publish
    return (yield* move) ? merged : "moved"
  }
  if (other !== undefined) return { _tag: "Blocked", reason: "The branch is checked out in several working trees." }
  // the files must be there before they are looked at
  yield* publish
  const update = { project, origin, ref, tree: yield* describeTree(path), from: head, to: commit, staleAfter }
  const updated = yield* Effect.scoped(updateTree(update, move))
  switch (updated._tag) {
    case "Updated":
      return merged
    case "Declined":
      return "moved"
    case "Blocked":
      return updated
  }
})

/** The answer of the first time. Where the service ended before the working tree was done, it is done now. */
const alreadyMerged = Effect.fnUntraced(function* (
  job: Job,
  head: string,
): Effect.fn.Return<MergeResult, CheckoutFailed, Scope.Scope> {
  const { origin, ref, spec } = job
  const paths = yield* treesWith(origin, ref)
  const merge = yield* mergeOf(origin, ref, head, spec.commit, paths.length === 0 ? "ref-only" : "working-tree-reset")
  const [path] = paths
  if (path !== undefined && merge.commit === head && merge.mode === "working-tree-reset") {
    const blocked = yield* completeTree(job, path, merge)
    if (blocked !== undefined) return blocked
  }
  return { _tag: "Merged", ...merge }
})

/** Only where the index is still exactly that of the head before. */
const completeTree = Effect.fnUntraced(function* (job: Job, path: string, merge: Merge) {
  const { origin, ref, project, gitDir, staleAfter } = job
  const [before, after] = yield* treesOf(gitDir, [merge.previousHead, merge.commit])
  if (before === after) return undefined
  const tree = yield* describeTree(path)
  if (!(yield* indexIs(origin, tree.index, tree.gitDir, merge.previousHead))) return undefined
  const update = { project, origin, ref, tree, from: merge.previousHead, to: merge.commit, staleAfter }
  const updated = yield* Effect.scoped(updateTree(update, Effect.succeed(true)))
  return updated._tag === "Blocked" ? updated : undefined
})
