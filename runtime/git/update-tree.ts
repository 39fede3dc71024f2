/**
 * Takes a working tree of the user from one commit to another, together with what makes it so (`decide`),
 * under the lock of its index: first everything is looked at, then it is decided, then the files are written.
 */
import { copyFile, readdir, readFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { type Duration, Effect, type Scope } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { onDisk, succeeded } from "#runtime/git/failed.ts"
import { absent } from "#runtime/git/folders.ts"
import { lockIndex } from "#runtime/git/index-lock.ts"
import { findObstacle, inTree, type Step } from "#runtime/git/obstacles.ts"
import type { Origin } from "#runtime/git/origin.ts"
import { scratchForUserTree } from "#runtime/git/scratch.ts"
import { type UserTree, underWay } from "#runtime/git/user-trees.ts"

export interface Update {
  /** The folder of the repository's checkouts. */
  readonly project: string
  readonly origin: Origin
  readonly ref: string
  readonly tree: UserTree
  readonly from: string
  readonly to: string
  /** How old a lock must be that was left behind. */
  readonly staleAfter: Duration.Duration
}

export type Updated =
  | { readonly _tag: "Updated" }
  | { readonly _tag: "Blocked"; readonly reason: string }
  /** `decide` said no; nothing was changed. */
  | { readonly _tag: "Declined" }

const blocked = (reason: string): Updated => ({ _tag: "Blocked", reason })

export const updateTree = Effect.fn("Checkouts.updateTree")(
  function* (
    update: Update,
    decide: Effect.Effect<boolean, CheckoutFailed>,
  ): Effect.fn.Return<Updated, CheckoutFailed, Scope.Scope> {
    const { origin, ref, tree, from, to } = update
    if (tree.isSparse) return blocked("The working tree is a sparse checkout.")
    const lock = yield* lockIndex(tree, origin.owner, update.staleAfter)
    if (lock === undefined) return blocked("Another git command holds the lock of the index.")
    const busy = yield* underWay(origin, ref, [tree])
    if (busy !== null) return blocked(`In the working tree ${busy} is under way.`)
    const step = yield* copyOfIndex(update)
    if (step === undefined) return blocked("The working tree has no index.")
    const obstacle = yield* findObstacle(step)
    if (obstacle !== null) return blocked(obstacle)
    if (!(yield* decide)) return { _tag: "Declined" }
    yield* succeeded(inTree(step, ["read-tree", "-m", "-u", from, to]), "update the working tree")
    yield* inTree(step, ["update-index", "-q", "--refresh"])
    yield* lock.replace(yield* onDisk(() => readFile(step.index)))
    return { _tag: "Updated" }
  },
  // once it is decided it is done
  Effect.uninterruptible,
)

/** An index that was split is put together: its other part is looked for beside it. */
const copyOfIndex = Effect.fnUntraced(function* ({ project, origin, tree, from, to }: Update) {
  const gitDir = yield* scratchForUserTree(project, origin, tree.core)
  const index = join(gitDir, "index")
  const copied = yield* onDisk(async () => {
    const folder = dirname(tree.index)
    const shared = (await readdir(folder)).filter((name) => name.startsWith("sharedindex."))
    for (const name of shared) await copyFile(join(folder, name), join(gitDir, name))
    return copyFile(tree.index, index).then(() => true, absent)
  })
  const step: Step = { gitDir, index, tree: tree.path, owner: origin.owner, from, to }
  return copied === true ? step : undefined
})
