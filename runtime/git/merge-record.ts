/**
 * What became of a merge that was made before: the branch's own log remembers it, for every replica. Where
 * that is gone the history tells which commit brought the other one in.
 */
import { Effect } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { failed, succeeded } from "#runtime/git/failed.ts"
import { maxListBytes } from "#runtime/git/limits.ts"
import type { Origin } from "#runtime/git/origin.ts"
import { gitIn } from "#runtime/git/program.ts"

export type Mode = "ref-only" | "working-tree-reset"

export interface Merge {
  readonly commit: string
  readonly previousHead: string
  readonly mode: Mode
}

/** Entries of a branch's log that are looked through, newest first. */
const maxLog = 5_000

export const reflogMessage = (commit: string, mode: Mode): string => `svc: merge ${commit} ${mode}`

/** `commit` is in `head`, which the branch is at. `otherwise` is the mode where nobody remembers it. */
export const mergeOf = Effect.fnUntraced(function* (
  origin: Origin,
  ref: string,
  head: string,
  commit: string,
  otherwise: Mode,
): Effect.fn.Return<Merge, CheckoutFailed> {
  const remembered = yield* fromLog(origin, ref, commit)
  const merged = remembered?.commit ?? (yield* fromHistory(origin, head, commit))
  const parents = yield* ask(origin, ["rev-list", "--parents", "-n", "1", merged])
  const [, previousHead = merged] = parents.trim().split(" ")
  return { commit: merged, previousHead, mode: remembered?.mode ?? otherwise }
})

const plainLog = ["--no-show-signature", "--no-patch", "--no-ext-diff", "--no-textconv", "--no-mailmap", "--no-color"]

const fromLog = Effect.fnUntraced(function* (origin: Origin, ref: string, commit: string) {
  const { stdout } = yield* gitIn({
    gitDir: origin.gitDir,
    args: ["log", "--walk-reflogs", ...plainLog, `--max-count=${maxLog}`, "--format=%H %gs", ref, "--"],
    maxOutput: maxListBytes,
    owner: origin.owner,
  })
  const lines = stdout.toString("utf8").split("\n")
  for (const mode of ["ref-only", "working-tree-reset"] as const) {
    const line = lines.find((line) => line.endsWith(` ${reflogMessage(commit, mode)}`))
    if (line !== undefined) return { commit: line.slice(0, line.indexOf(" ")), mode }
  }
  return undefined
})

/** The oldest commit of the branch's own line that has `commit` in it. */
const fromHistory = Effect.fnUntraced(function* (origin: Origin, head: string, commit: string) {
  const own = yield* ask(origin, ["rev-list", "--first-parent", "--parents", head, `^${commit}`])
  const line = own.split("\n").map((text) => text.split(" "))
  const direct = line.find(([, ...parents]) => parents.slice(1).includes(commit))?.[0]
  if (direct !== undefined) return direct
  const [oldest] = line.filter(([id]) => id !== "" && id !== undefined).slice(-1)
  // it lies on the branch's own line itself
  if (oldest === undefined || oldest[1] === commit) return commit
  const path = yield* ask(origin, ["rev-list", "--first-parent", "--ancestry-path", head, `^${commit}`])
  return path.trim().split("\n").at(-1) || commit
})

const ask = (origin: Origin, args: ReadonlyArray<string>): Effect.Effect<string, CheckoutFailed> =>
  Effect.map(
    succeeded(gitIn({ gitDir: origin.gitDir, args, maxOutput: maxListBytes, owner: origin.owner }), "read the history"),
    (output) => output.toString("latin1"),
  )

/** Is the index exactly the tree of `commit`? */
export const indexIs = Effect.fnUntraced(function* (
  origin: Origin,
  index: string,
  gitDir: string,
  commit: string,
): Effect.fn.Return<boolean, CheckoutFailed> {
  const args = ["diff-index", "--cached", "--quiet", "--no-ext-diff", "--no-renames", commit]
  const { code } = yield* gitIn({ gitDir, index, args, owner: origin.owner })
  if (code === 0 || code === 1) return code === 0
  return yield* failed("unavailable", "The index of the working tree cannot be read.")
})
