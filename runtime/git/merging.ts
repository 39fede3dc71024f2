/** Merges two commits without a working tree: the tree that comes of it, or the files that do not fit. */
import { Effect } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { failed } from "#runtime/git/failed.ts"
import { longPatience, maxListBytes } from "#runtime/git/limits.ts"
import { isCommitId } from "#runtime/git/names.ts"
import { gitIn } from "#runtime/git/program.ts"
import { packOf, refusedObjects } from "#runtime/git/transfer.ts"

export type MergedTree =
  | { readonly _tag: "Clean"; readonly tree: string }
  | { readonly _tag: "Conflict"; readonly files: ReadonlyArray<string> }
  | { readonly _tag: "Unrelated" }

/** `gitDir` gets the objects. All are full ids of commits. */
export const mergeTrees = Effect.fnUntraced(function* (
  gitDir: string,
  ours: string,
  theirs: string,
): Effect.fn.Return<MergedTree, CheckoutFailed> {
  const output = yield* gitIn({
    gitDir,
    args: ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs],
    maxOutput: maxListBytes,
    timeout: longPatience,
  })
  const [tree = "", ...files] = output.stdout
    .toString("utf8")
    .split("\0")
    .filter((part) => part !== "")
  if (output.code === 0) return { _tag: "Clean", tree }
  if (output.code === 1) return { _tag: "Conflict", files: [...new Set(files)].sort() }
  if (output.complaint.includes("unrelated histories")) return { _tag: "Unrelated" }
  return yield* failed("unavailable", "Git could not merge the commits.")
})

/**
 * Checks every object that `commits` bring beyond `known`, as a transfer would: all there, all well formed.
 * Fails with `invalid`.
 */
export const checkObjects = Effect.fnUntraced(function* (
  gitDir: string,
  commits: ReadonlyArray<string>,
  known: string,
) {
  const pack = yield* packOf(gitDir, commits, [known])
  const args = ["index-pack", "--stdin", "--strict"]
  const checked = yield* gitIn({ gitDir, args, stdin: pack, timeout: longPatience })
  if (checked.code !== 0) return yield* refusedObjects(checked)
})

/** `not_found` where one of them is not in the repository. */
export const checkCommits = Effect.fnUntraced(function* (gitDir: string, commits: ReadonlyArray<string>) {
  if (!commits.every(isCommitId)) return yield* failed("invalid", "That is not the id of a commit.")
  const output = yield* gitIn({ gitDir, args: ["cat-file", "--batch-check"], stdin: `${commits.join("\n")}\n` })
  const lines = output.stdout.toString("latin1").trim().split("\n")
  if (output.code !== 0 || !lines.every((line) => line.includes(" commit "))) {
    return yield* failed("not_found", "The repository does not have the commit.")
  }
})

/** Is everything of `ancestor` in `commit`? */
export const contains = Effect.fnUntraced(function* (
  gitDir: string,
  commit: string,
  ancestor: string,
): Effect.fn.Return<boolean, CheckoutFailed> {
  if (commit === ancestor) return true
  const { code } = yield* gitIn({ gitDir, args: ["merge-base", "--is-ancestor", ancestor, commit] })
  if (code === 0 || code === 1) return code === 0
  return yield* failed("unavailable", "Git could not compare the commits.")
})
