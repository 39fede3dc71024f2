/**
 * The work of a run as files: what is in its checkout, or, where that is on another replica, what of it was committed
 * to its branch.
 */
import { Effect } from "effect"
import {
  type ChangeFilter,
  CheckoutFailed,
  Checkouts,
  type FileChange,
  type FileContent,
  type FileDiff,
  type TreeNode,
} from "#core/ports/checkouts.ts"
import type { Run } from "#core/run/run.ts"

type Answer<A> = Effect.Effect<A, CheckoutFailed>

export interface ShownWork {
  readonly files: (filter: ChangeFilter) => Answer<ReadonlyArray<FileChange>>
  readonly tree: Answer<ReadonlyArray<TreeNode>>
  readonly fileDiff: (path: string) => Answer<FileDiff>
  readonly fileContent: (path: string) => Answer<FileContent>
}

type ShownRun = Pick<Run, "runId" | "repository" | "originatingBranch" | "worktreeBranch">

export const makeShownWork = Effect.map(Checkouts, (checkouts) => {
  const committed = (repository: string, from: string, to: string): ShownWork => {
    const { files, tree, fileDiff, fileContent } = checkouts.compare({ repository, from, to })
    return {
      files: (filter) => {
        if (filter === "uncommitted") return Effect.succeed([])
        return filter === "last-commit" ? Effect.fail(elsewhere) : files
      },
      tree,
      fileDiff,
      fileContent,
    }
  }

  /** Undefined where the run has no checkout (yet): it changed nothing that could be shown. */
  return Effect.fnUntraced(function* ({ runId, repository, originatingBranch, worktreeBranch }: ShownRun) {
    if (repository === null || worktreeBranch === null) return undefined
    const checkout = yield* checkouts.open({ runId, repository }).pipe(
      Effect.catchIf(
        ({ kind }) => kind === "not_found",
        () => Effect.undefined,
      ),
    )
    if (checkout === undefined) return committed(repository, originatingBranch ?? "HEAD", worktreeBranch)
    const work: ShownWork = {
      files: (filter) => checkouts.files(checkout, filter),
      tree: checkouts.tree(checkout),
      fileDiff: (path) => checkouts.fileDiff(checkout, path),
      fileContent: (path) => checkouts.fileContent(checkout, path),
    }
    return work
  })
})

const elsewhere = new CheckoutFailed({
  kind: "unavailable",
  message: "The checkout of the run is not on this replica: only what was committed as a whole can be shown.",
})
