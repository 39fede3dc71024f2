/**
 * The work of runs on a repository, by git: a checkout for each, its changes, its commits, the merge. The
 * user's own working tree is never changed, except by a merge into the branch that is checked out in it while
 * it is clean.
 */
import { Context, type Effect, Schema } from "effect"
import type { Mount } from "#core/ports/sandbox.ts"

export interface Checkout {
  readonly runId: string
  /** The project's repository: the working directory of the user. Real path. */
  readonly repository: string
  /** Where the agent works. Real path. */
  readonly path: string
  /** `svc/{runId}`. */
  readonly branch: string
  /** The commit that the work began at. */
  readonly baseCommit: string
  /** What a command in the sandbox needs to see besides `path`, for git to work there, read-only. */
  readonly mounts: ReadonlyArray<Mount>
  /** How it was made, for diagnosis: `overlay`, `worktree`, `shared-clone`. */
  readonly kind: string
}

export interface Identity {
  readonly name: string
  readonly email: string
}

/** A state of the work. */
export interface Snapshot {
  readonly commit: string
  readonly treeHash: string
  /** Compared with `baseCommit`. */
  readonly hasChanges: boolean
}

export type ChangeFilter = "all" | "committed" | "uncommitted" | "last-commit"

export interface FileChange {
  readonly path: string
  readonly status: "added" | "modified" | "deleted"
  readonly scope: "committed" | "uncommitted" | "merged"
  readonly addedLines: number
  readonly removedLines: number
}

export interface FileDiff {
  readonly path: string
  /** Null for a binary file or one that is too large. */
  readonly diff: string | null
  readonly status: "added" | "modified" | "deleted" | "unchanged"
  readonly isBinary: boolean
}

export interface FileContent {
  readonly path: string
  /** Null for a binary file, and over 1 MiB (`language` is `too_large` then). */
  readonly content: string | null
  readonly isBinary: boolean
  readonly language: string | null
}

export interface TreeNode {
  readonly path: string
  readonly isFolder: boolean
  readonly status: "added" | "modified" | "deleted" | null
  readonly addedLines: number
  readonly removedLines: number
}

export type MergeResult =
  | {
      readonly _tag: "Merged"
      readonly commit: string
      readonly previousHead: string
      readonly mode: "ref-only" | "working-tree-reset"
    }
  /** Nothing was changed; it may work later: a dirty tree, an untracked file in the way, a merge under way, a lock. */
  | { readonly _tag: "Blocked"; readonly reason: string }
  | { readonly _tag: "Conflict"; readonly reason: string; readonly files: ReadonlyArray<string> }

/** Files that conflicted and became as one commit has them, because it has every change of the others in them too. */
export interface Settlement {
  /** Of the commit, by its place in `commits`. */
  readonly index: number
  /** Sorted. */
  readonly files: ReadonlyArray<string>
}

/** A repository, a branch or a file that cannot be used as asked. The message is for people. */
export class CheckoutFailed extends Schema.TaggedError<CheckoutFailed>()("CheckoutFailed", {
  kind: Schema.Literals(["not_a_repository", "unknown_branch", "not_found", "invalid", "too_large", "unavailable"]),
  message: Schema.String,
}) {}

type Answer<A> = Effect.Effect<A, CheckoutFailed>

/** What was made since a branch was left. */
export interface Comparison {
  /** As `Checkouts.diff`. */
  readonly diff: (maxBytes: number) => Answer<string>
  readonly files: Answer<ReadonlyArray<FileChange>>
  readonly tree: Answer<ReadonlyArray<TreeNode>>
  readonly fileDiff: (path: string) => Answer<FileDiff>
  readonly fileContent: (path: string) => Answer<FileContent>
}

/** What stands at the end of a diff that was cut. No line of a diff begins like it. */
export const cutLine = (maxBytes: number): string => `\n(The diff was cut here: it is longer than ${maxBytes} bytes.)\n`
export const isCut = (diff: string): boolean => /\n\(The diff was cut here: [^\n]*\)\n$/.test(diff)

/** Where a run's work is; enough to find it again on any start of the service. */
export interface Place {
  readonly runId: string
  readonly repository: string
}

export class Checkouts extends Context.Service<
  Checkouts,
  {
    /**
     * A checkout of `base` (a branch or a commit of the repository) on a new branch `svc/{runId}`. Asked again
     * for the same run it gives the one that is there, with all the work in it.
     */
    readonly prepare: (spec: Place & { readonly base: string }) => Answer<Checkout>
    /** The one that was prepared; `not_found` where there is none. */
    readonly open: (place: Place) => Answer<Checkout>
    /**
     * Commits everything that is in the working tree. Where nothing changed since the last commit there is no
     * new one. The same call twice gives the same snapshot.
     */
    readonly commit: (checkout: Checkout, message: string, author: Identity) => Answer<Snapshot>
    /** The work as it is, with what is not committed; changes nothing. */
    readonly snapshot: (checkout: Checkout) => Answer<Snapshot>
    /** Unified diff from the base to the work as it is, at most `maxBytes` (cut at a line, and said so at the end). */
    readonly diff: (checkout: Checkout, maxBytes: number) => Answer<string>
    readonly files: (checkout: Checkout, filter: ChangeFilter) => Answer<ReadonlyArray<FileChange>>
    readonly fileDiff: (checkout: Checkout, path: string) => Answer<FileDiff>
    readonly fileContent: (checkout: Checkout, path: string) => Answer<FileContent>
    readonly tree: (checkout: Checkout) => Answer<ReadonlyArray<TreeNode>>
    /**
     * Merges commits in this order onto `base`, without a working tree: for the integration of several runs.
     * `branch` is then at the result, made or moved by compare-and-swap from `expected` (null: must not exist).
     * A conflict is settled only where no changed line is lost by it, and is told then.
     */
    readonly integrate: (spec: {
      readonly repository: string
      readonly base: string
      readonly branch: string
      readonly expected: string | null
      readonly commits: ReadonlyArray<{ readonly commit: string; readonly message: string }>
      readonly author: Identity
    }) => Answer<
      | {
          readonly _tag: "Integrated"
          readonly commit: string
          readonly treeHash: string
          readonly settled: ReadonlyArray<Settlement>
        }
      | {
          readonly _tag: "Conflict"
          /** The first that does not fit, by its place in `commits`. */
          readonly index: number
          readonly files: ReadonlyArray<string>
        }
    >
    /**
     * Merges `commit` into `branch` of the user's repository, once: where it is in the branch already, the
     * answer is that of the first time. A push that comes between is merged with, not lost.
     */
    readonly merge: (spec: {
      readonly repository: string
      readonly branch: string
      readonly commit: string
      readonly message: string
      readonly author: Identity
    }) => Answer<MergeResult>
    /** The commit `to`, compared with where it left `from` (a branch or a commit), without a checkout. */
    readonly compare: (spec: { readonly repository: string; readonly from: string; readonly to: string }) => Comparison
    /** Takes the checkout away, and its branch where `branch` is true. Asked again it does nothing. */
    readonly remove: (place: Place, options: { readonly branch: boolean }) => Answer<void>
    /** The commit of a branch, or null. */
    readonly branchHead: (repository: string, branch: string) => Answer<string | null>
  }
>()("core/Checkouts") {}
