/** What differs between two trees: the list, and the text. Nothing that a repository names is run for it. */
import { Effect } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { failed, succeeded } from "#runtime/git/failed.ts"
import { longPatience, maxListBytes } from "#runtime/git/limits.ts"
import { gitIn } from "#runtime/git/program.ts"

export type ChangeStatus = "added" | "modified" | "deleted"

export interface Change {
  readonly path: string
  readonly status: ChangeStatus
  readonly addedLines: number
  readonly removedLines: number
  readonly isBinary: boolean
}

const plain = ["--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--ignore-submodules=none"]

/** Both are trees or commits, by their full ids. Sorted by path. */
export const changesBetween = Effect.fnUntraced(function* (
  gitDir: string,
  from: string,
  to: string,
): Effect.fn.Return<ReadonlyArray<Change>, CheckoutFailed> {
  if (from === to) return []
  const args = ["diff-tree", "-r", "-z", "--raw", "--numstat", ...plain, from, to]
  const output = yield* succeeded(
    gitIn({ gitDir, args, maxOutput: maxListBytes, timeout: longPatience }),
    "compare the files",
  )
  return parseChanges(output.toString("utf8"))
})

/** First `:mode mode id id status NUL path NUL` for each, then `added TAB removed TAB path NUL` for each. */
const parseChanges = (text: string): ReadonlyArray<Change> => {
  const parts = text.split("\0").slice(0, -1)
  const status = new Map<string, ChangeStatus>()
  let at = 0
  for (; parts[at]?.startsWith(":"); at += 2) {
    const letter = parts[at]?.at(-1)
    status.set(parts[at + 1] ?? "", letter === "A" ? "added" : letter === "D" ? "deleted" : "modified")
  }
  return parts.slice(at).map((part) => {
    const [added = "", removed = "", ...path] = part.split("\t")
    const name = path.join("\t")
    const isBinary = added === "-"
    return {
      path: name,
      status: status.get(name) ?? "modified",
      addedLines: isBinary ? 0 : Number(added),
      removedLines: isBinary ? 0 : Number(removed),
      isBinary,
    }
  })
}

export interface DiffText {
  readonly text: string
  readonly truncated: boolean
}

/** A unified diff, of one file where `path` is given; cut at the end of a line where it is more than `maxBytes`. */
export const diffBetween = Effect.fnUntraced(function* (
  gitDir: string,
  from: string,
  to: string,
  maxBytes: number,
  path?: string,
): Effect.fn.Return<DiffText, CheckoutFailed> {
  if (from === to || maxBytes <= 0) return { text: "", truncated: from !== to }
  const args = ["diff-tree", "-r", "-p", "--src-prefix=a/", "--dst-prefix=b/", ...plain, from, to]
  const only = path === undefined ? [] : ["--", path]
  const output = yield* gitIn({ gitDir, args: [...args, ...only], maxOutput: maxBytes, timeout: longPatience })
  if (output.truncated) {
    const kept = output.stdout.subarray(0, output.stdout.lastIndexOf(10) + 1)
    return { text: kept.toString("utf8"), truncated: true }
  }
  if (output.code !== 0) return yield* failed("unavailable", "Git could not compare the files.")
  return { text: output.stdout.toString("utf8"), truncated: false }
})
