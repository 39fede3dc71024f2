/** Two commits of a repository, compared without a checkout: what was made of a branch since it was left. */
import { Effect, type Scope } from "effect"
import { type CheckoutFailed, type Comparison, cutLine, type FileChange, type FileDiff } from "#core/ports/checkouts.ts"
import { treesOf } from "#runtime/git/commit.ts"
import { readContent, readTree } from "#runtime/git/content.ts"
import { changesBetween, diffBetween } from "#runtime/git/diff.ts"
import { failed } from "#runtime/git/failed.ts"
import { projectFolder } from "#runtime/git/folders.ts"
import { checkPath } from "#runtime/git/inspect.ts"
import { maxListBytes, maxShownDiffBytes } from "#runtime/git/limits.ts"
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
  const left = yield* mergeBase(gitDir, branch, to)
  const base = left === to && branch !== to ? yield* leftBeforeMerge(gitDir, branch, to) : (left ?? branch)
  const [fromTree = "", toTree = ""] = yield* treesOf(gitDir, [base, to])
  return { gitDir, from: fromTree, to: toTree }
})

const mergeBase = (gitDir: string, one: string, other: string) =>
  Effect.map(gitIn({ gitDir, args: ["merge-base", one, other] }), ({ code, stdout }) =>
    code === 0 ? stdout.toString("latin1").trim() : undefined,
  )

/** Where a commit that is in the branch by now had left it: seen from the first commit of the branch that has it. */
const leftBeforeMerge = Effect.fnUntraced(function* (gitDir: string, branch: string, to: string) {
  const args = ["rev-list", "--first-parent", "--ancestry-path", "--parents", `${to}..${branch}`]
  const { code, stdout } = yield* gitIn({ gitDir, args, maxOutput: maxListBytes })
  const [, before] = code === 0 ? (stdout.toString("latin1").trimEnd().split("\n").at(-1)?.split(" ") ?? []) : []
  return before === undefined ? to : ((yield* mergeBase(gitDir, before, to)) ?? to)
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
          truncated ? `${text}${cutLine(maxBytes)}` : text,
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
