/** Two commits of a repository, compared without a checkout: what was made of a branch since it was left. */
import { Effect, type Scope } from "effect"
import type { CheckoutFailed, Comparison, FileChange, FileDiff } from "#core/ports/checkouts.ts"
import { treesOf } from "#runtime/git/commit.ts"
import { readContent, readTree } from "#runtime/git/content.ts"
import { changesBetween, diffBetween } from "#runtime/git/diff.ts"
import { failed } from "#runtime/git/failed.ts"
import { projectFolder } from "#runtime/git/folders.ts"
import { checkPath } from "#runtime/git/inspect.ts"
import { maxShownDiffBytes } from "#runtime/git/limits.ts"
import { findOrigin, resolveBase } from "#runtime/git/origin.ts"
import { gitIn } from "#runtime/git/program.ts"
import { scratchForMerges } from "#runtime/git/scratch.ts"

interface Trees {
  readonly gitDir: string
  readonly from: string
  readonly to: string
}

const treesOfBoth = Effect.fnUntraced(function* (
  data: string,
  spec: { readonly repository: string; readonly from: string; readonly to: string },
): Effect.fn.Return<Trees, CheckoutFailed, Scope.Scope> {
  const origin = yield* findOrigin(spec.repository)
  const gitDir = yield* scratchForMerges(projectFolder(data, origin.repository), origin)
  const { commit: to } = yield* resolveBase(origin, spec.to, "HEAD")
  const { commit: branch } = yield* resolveBase(origin, spec.from, "HEAD")
  const found = yield* gitIn({ gitDir, args: ["merge-base", branch, to] })
  const base = found.code === 0 ? found.stdout.toString("latin1").trim() : branch
  const [fromTree = "", toTree = ""] = yield* treesOf(gitDir, [base, to])
  return { gitDir, from: fromTree, to: toTree }
})

export const compareCommits = (
  data: Effect.Effect<string, CheckoutFailed>,
  spec: { readonly repository: string; readonly from: string; readonly to: string },
): Comparison => {
  const onTrees = <A>(use: (trees: Trees) => Effect.Effect<A, CheckoutFailed>) =>
    data.pipe(
      Effect.flatMap((folder) => treesOfBoth(folder, spec)),
      Effect.flatMap(use),
      Effect.scoped,
    )
  const changes = ({ gitDir, from, to }: Trees) => changesBetween(gitDir, from, to)
  return {
    diff: (maxBytes) =>
      onTrees(({ gitDir, from, to }) =>
        Effect.map(diffBetween(gitDir, from, to, maxBytes), ({ text, truncated }) =>
          truncated ? `${text}\n(The diff was cut here: it is longer than ${maxBytes} bytes.)\n` : text,
        ),
      ),
    files: onTrees((trees) =>
      Effect.map(changes(trees), (all) =>
        all.map(
          ({ path, status, addedLines, removedLines }): FileChange => ({
            path,
            status,
            scope: "committed",
            addedLines,
            removedLines,
          }),
        ),
      ),
    ),
    tree: onTrees((trees) => Effect.flatMap(changes(trees), (all) => readTree(trees.gitDir, trees.to, all))),
    fileDiff: (path) =>
      Effect.andThen(
        checkPath(path),
        onTrees((trees) => fileDiff(trees, path)),
      ),
    fileContent: (path) =>
      Effect.andThen(
        checkPath(path),
        onTrees(({ gitDir, to }) => readContent(gitDir, to, path)),
      ),
  }
}

const fileDiff = Effect.fnUntraced(function* (
  { gitDir, from, to }: Trees,
  path: string,
): Effect.fn.Return<FileDiff, CheckoutFailed> {
  const change = (yield* changesBetween(gitDir, from, to)).find((one) => one.path === path)
  if (change === undefined) return yield* failed("not_found", "This file was not changed.")
  const { status, isBinary } = change
  if (isBinary) return { path, diff: null, status, isBinary }
  const { text, truncated } = yield* diffBetween(gitDir, from, to, maxShownDiffBytes, path)
  return { path, diff: truncated ? null : text, status, isBinary }
})
