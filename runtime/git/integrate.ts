/**
 * Puts the commits of several runs together on one branch, in their order, each by a merge commit. The same
 * commits on the same base give the same result, whoever asks: a merge is as old as the younger of its parents. A
 * conflict ends it, except where the commit has all of what it conflicts with, and more.
 */
import { Effect } from "effect"
import type { Identity, Settlement } from "#core/ports/checkouts.ts"
import { acceptChild } from "#runtime/git/accept-child.ts"
import { treesOf } from "#runtime/git/commit.ts"
import { checkCount } from "#runtime/git/entries.ts"
import { failed, onDisk, succeeded } from "#runtime/git/failed.ts"
import { projectFolder } from "#runtime/git/folders.ts"
import { checkCommits, checkObjects, contains, mergeTrees } from "#runtime/git/merging.ts"
import { branchRef } from "#runtime/git/names.ts"
import { commitText, writeObject } from "#runtime/git/objects.ts"
import { findOrigin, headOf, moveRef, resolveBase } from "#runtime/git/origin.ts"
import { gitIn } from "#runtime/git/program.ts"
import { scratchForMerges } from "#runtime/git/scratch.ts"
import { publishObjects } from "#runtime/git/transfer.ts"

export interface Integration {
  readonly repository: string
  readonly base: string
  readonly branch: string
  readonly expected: string | null
  readonly commits: ReadonlyArray<{ readonly commit: string; readonly message: string }>
  readonly author: Identity
}

export type Integrated =
  | {
      readonly _tag: "Integrated"
      readonly commit: string
      readonly treeHash: string
      readonly settled: ReadonlyArray<Settlement>
    }
  | { readonly _tag: "Conflict"; readonly index: number; readonly files: ReadonlyArray<string> }

export const integrateCommits = Effect.fn("Checkouts.integrate")(function* (data: string, spec: Integration) {
  const origin = yield* findOrigin(spec.repository)
  const ref = yield* branchRef(spec.branch)
  const { commit: base } = yield* resolveBase(origin, spec.base, ref)
  const gitDir = yield* scratchForMerges(projectFolder(data, origin.repository), origin)
  const commits = spec.commits.map(({ commit }) => commit)
  if (commits.length > 0) yield* checkCommits(gitDir, commits)
  yield* checkObjects(gitDir, commits, base)
  const times = yield* timesOf(gitDir, [base, ...commits])
  yield* Effect.forEach(commits, (commit) => checkCount(gitDir, commit), { concurrency: 2 })
  let head = base
  let [tree = ""] = yield* treesOf(gitDir, [base])
  let seconds = times.get(base) ?? 0
  const settled: Array<Settlement> = []
  for (const [index, { commit, message }] of spec.commits.entries()) {
    const merged = yield* mergeTrees(gitDir, head, commit)
    const accepted = merged._tag === "Conflict" ? yield* acceptChild(gitDir, head, commit) : undefined
    if (accepted !== undefined) settled.push({ index, files: accepted.files })
    const result = accepted?.tree ?? (merged._tag === "Clean" ? merged.tree : undefined)
    if (result === undefined) {
      return { _tag: "Conflict", index, files: merged._tag === "Conflict" ? merged.files : [] } satisfies Integrated
    }
    // what is in it already makes no merge; what only says the same does
    if (result === tree && (yield* contains(gitDir, head, commit))) continue
    tree = result
    seconds = Math.max(seconds, times.get(commit) ?? 0)
    const text = commitText({ tree, parents: [head, commit], message, author: spec.author, seconds })
    head = yield* onDisk(() => writeObject({ gitDir, objectFormat: origin.objectFormat }, "commit", text))
  }
  if (head !== base) yield* publishObjects(origin, gitDir, [head], [base, ...commits])
  const moved = yield* moveRef(origin, ref, spec.expected, head, "svc: integrate")
  if (!moved && (yield* headOf(origin, ref)) !== head) {
    return yield* failed("unavailable", "The integration branch was moved by somebody else.")
  }
  return { _tag: "Integrated", commit: head, treeHash: tree, settled } satisfies Integrated
})

/** When each was committed, in seconds since 1970. */
const timesOf = Effect.fnUntraced(function* (gitDir: string, commits: ReadonlyArray<string>) {
  const args = ["rev-list", "--no-walk=unsorted", "--no-commit-header", "--format=%H %ct", "--stdin"]
  const output = yield* succeeded(gitIn({ gitDir, args, stdin: `${commits.join("\n")}\n` }), "read the commits")
  const lines = output.toString("latin1").trim().split("\n")
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(" ")), Number(line.slice(line.indexOf(" ") + 1))]))
})
