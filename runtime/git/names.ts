/** Which names of branches, runs and files are taken: the rules of `git check-ref-format`, and stricter ones of ours. */
import { Effect } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { failed } from "#runtime/git/failed.ts"
import { maxPathBytes } from "#runtime/git/limits.ts"

/** Bytes of the name of a branch. */
const maxBranchBytes = 255

/** Control characters and those that mean something to git. */
const forbidden = /[\p{Cc} ~^:?*[\\]/u

export const isBranchName = (name: string): boolean =>
  name !== "" &&
  Buffer.byteLength(name) <= maxBranchBytes &&
  name.isWellFormed() &&
  !forbidden.test(name) &&
  !name.startsWith("-") &&
  name !== "@" &&
  name !== "HEAD" &&
  !name.includes("..") &&
  !name.includes("@{") &&
  !name.endsWith(".") &&
  name.split("/").every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"))

/** `refs/heads/…` of a branch whose name is in order. */
export const branchRef = (name: string): Effect.Effect<string, CheckoutFailed> =>
  isBranchName(name)
    ? Effect.succeed(`refs/heads/${name}`)
    : Effect.fail(failed("invalid", "That is not the name of a branch."))

export const isCommitId = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)

/** Also the name of a folder and of a branch. */
export const isRunId = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(text) && isBranchName(text)

export const branchOfRun = (runId: string): string => `svc/${runId}`

/**
 * Does a part of this path stand for a folder of git's own, on some file system? `.git` in any case, with
 * trailing dots or spaces, with a stream behind it, in its short form, with ignorable characters in it.
 * `path` in UTF-8, or its bytes as Latin-1.
 */
export const touchesGitFolder = (path: string): boolean => path.split(/[/\\]/).some(isGitFolderName)

const isGitFolderName = (part: string): boolean => {
  const plain = part
    .replace(ignorable, "")
    .replace(/:.*$/s, "")
    .replace(/[. ]+$/, "")
    .toLowerCase()
  return plain === ".git" || plain === "git~1"
}

/** What HFS+ leaves out when it compares names, as text and as UTF-8 bytes read as Latin-1. */
const ignorable =
  /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]|\u00e2\u0080[\u008c-\u008f\u00aa-\u00ae]|\u00e2\u0081[\u00aa-\u00af]|\u00ef\u00bb\u00bf/g

/** A path of a file below the top of a repository, as a caller names it. */
export const isFilePath = (path: string): boolean =>
  path !== "" &&
  path.isWellFormed() &&
  Buffer.byteLength(path) <= maxPathBytes &&
  !path.includes("\0") &&
  path.split("/").every((part) => part !== "" && part !== "." && part !== "..") &&
  !touchesGitFolder(path)
