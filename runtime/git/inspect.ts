/** What a checkout holds, compared with where it began. Nothing here changes it. */
import { Effect } from "effect"
import type { ChangeFilter, CheckoutFailed, FileChange, FileDiff } from "#core/ports/checkouts.ts"
import { treesOf } from "#runtime/git/commit.ts"
import { changesBetween, diffBetween } from "#runtime/git/diff.ts"
import { failed } from "#runtime/git/failed.ts"
import { maxShownDiffBytes } from "#runtime/git/limits.ts"
import { contains } from "#runtime/git/merging.ts"
import { isFilePath } from "#runtime/git/names.ts"
import { resolveBase } from "#runtime/git/origin.ts"
import type { Opened } from "#runtime/git/prepare.ts"
import { gitIn } from "#runtime/git/program.ts"
import { readHead } from "#runtime/git/run-refs.ts"
import { readWork } from "#runtime/git/work.ts"

export interface State {
  readonly opened: Opened
  /** The last commit. */
  readonly head: string
  readonly headTree: string
  readonly baseTree: string
  /** The tree of the work as it is. */
  readonly work: string
}

export const stateOf = Effect.fnUntraced(function* (opened: Opened): Effect.fn.Return<State, CheckoutFailed> {
  const { folder, origin, record } = opened
  const head = yield* readHead(folder, record.runId)
  const work = yield* Effect.scoped(Effect.map(readWork(folder, origin), ({ tree }) => tree))
  const [headTree = "", baseTree = ""] = yield* treesOf(folder.store, [head, record.baseCommit])
  return { opened, head, headTree, baseTree, work }
})

export const checkPath = (path: string): Effect.Effect<void, CheckoutFailed> =>
  isFilePath(path) ? Effect.void : Effect.fail(failed("invalid", "That is not the path of a file of the repository."))

export const listFiles = Effect.fn("Checkouts.files")(function* (
  opened: Opened,
  filter: ChangeFilter,
): Effect.fn.Return<ReadonlyArray<FileChange>, CheckoutFailed> {
  const { store } = opened.folder
  const { head, headTree, baseTree, work } = yield* stateOf(opened)
  const open = new Set((yield* changesBetween(store, headTree, work)).map(({ path }) => path))
  const committed = head === opened.record.baseCommit ? "committed" : yield* scopeOfCommits(opened, head)
  const list = (from: string, to: string, mayBeOpen: boolean) =>
    Effect.map(changesBetween(store, from, to), (changes) =>
      changes.map(
        ({ path, status, addedLines, removedLines }): FileChange => ({
          path,
          status,
          scope: mayBeOpen && open.has(path) ? "uncommitted" : committed,
          addedLines,
          removedLines,
        }),
      ),
    )
  switch (filter) {
    case "all":
      return yield* list(baseTree, work, true)
    case "committed":
      return yield* list(baseTree, headTree, false)
    case "uncommitted":
      return yield* list(headTree, work, true)
    case "last-commit":
      return head === opened.record.baseCommit ? [] : yield* list(yield* parentTree(store, head), headTree, false)
  }
})

/** Are the commits in the branch that they were made for? */
const scopeOfCommits = Effect.fnUntraced(function* ({ folder, origin, record }: Opened, head: string) {
  const target = resolveBase(origin, record.base, head)
  const { commit } = yield* Effect.orElseSucceed(target, () => ({ commit: record.baseCommit }))
  return (yield* contains(folder.store, commit, head)) ? "merged" : "committed"
})

/** The empty tree, for a commit without parents. */
const parentTree = Effect.fnUntraced(function* (gitDir: string, commit: string) {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${commit}^1^{tree}`]
  const parent = yield* gitIn({ gitDir, args })
  if (parent.code === 0) return parent.stdout.toString("latin1").trim()
  const empty = yield* gitIn({ gitDir, args: ["hash-object", "-t", "tree", "-w", "--stdin"], stdin: "" })
  return empty.stdout.toString("latin1").trim()
})

export const fileDiff = Effect.fnUntraced(function* (
  { opened, baseTree, work }: State,
  path: string,
): Effect.fn.Return<FileDiff, CheckoutFailed> {
  const { store } = opened.folder
  const change = (yield* changesBetween(store, baseTree, work)).find((one) => one.path === path)
  if (change === undefined) {
    yield* mustExist(store, work, path)
    return { path, diff: "", status: "unchanged", isBinary: false }
  }
  const { status, isBinary } = change
  if (isBinary) return { path, diff: null, status, isBinary }
  const { text, truncated } = yield* diffBetween(store, baseTree, work, maxShownDiffBytes, path)
  return { path, diff: truncated ? null : text, status, isBinary }
})

const mustExist = Effect.fnUntraced(function* (gitDir: string, tree: string, path: string) {
  const { stdout } = yield* gitIn({ gitDir, args: ["ls-tree", "-z", "--full-tree", tree, "--", path] })
  if (!stdout.toString("latin1").includes(" blob ")) {
    return yield* failed("not_found", "There is no such file.")
  }
})
