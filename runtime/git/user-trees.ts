/** The working trees of the user's repository: where a branch is checked out, and what is going on there. */
import { lstat, readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Schedule } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { failed, onDisk, succeeded } from "#runtime/git/failed.ts"
import { absent } from "#runtime/git/folders.ts"
import type { Origin } from "#runtime/git/origin.ts"
import { git, gitIn } from "#runtime/git/program.ts"

export interface UserTree {
  readonly path: string
  /** Its own git directory, not the shared one. */
  readonly gitDir: string
  readonly index: string
  /** Lines for the `[core]` section: what the user set about files. */
  readonly core: ReadonlyArray<string>
  readonly isSparse: boolean
}

/** Every working tree that is there and has the branch checked out. */
export const treesWith = Effect.fnUntraced(function* (
  origin: Origin,
  ref: string,
): Effect.fn.Return<ReadonlyArray<string>, CheckoutFailed> {
  const output = yield* succeeded(
    gitIn({ gitDir: origin.gitDir, args: ["worktree", "list", "--porcelain", "-z"], owner: origin.owner }),
    "list the working trees",
    // it fails while another one is being added
  ).pipe(Effect.retry({ times: 5, schedule: Schedule.spaced("50 millis") }))
  const paths = output
    .toString("utf8")
    .split("\0\0")
    .map((record) => record.split("\0"))
    .filter((lines) => lines.includes(`branch ${ref}`))
    .map(([first = ""]) => first.slice("worktree ".length))
  const there = yield* onDisk(() => Promise.all(paths.map((path) => lstat(path).catch(absent))))
  return paths.filter((_, at) => there[at]?.isDirectory())
})

export const describeTree = Effect.fnUntraced(function* (path: string): Effect.fn.Return<UserTree, CheckoutFailed> {
  const places = yield* git(path, ["rev-parse", "--path-format=absolute", "--git-dir", "--git-path", "index"])
  const [gitDir, index, rest] = places.stdout.split("\n")
  if (places.code !== 0 || !gitDir || !index || rest !== "") {
    return yield* failed("unavailable", "The working tree of the branch cannot be read.")
  }
  const { stdout } = yield* git(path, ["config", "-z", "--type=bool-or-str", "--get-regexp", settingNames])
  const settings = new Map(
    stdout
      .split("\0")
      .filter((entry) => entry.includes("\n"))
      .map((entry) => [entry.slice(0, entry.indexOf("\n")), entry.slice(entry.indexOf("\n") + 1)]),
  )
  const core = [...settings].filter(([name, value]) => name !== sparse && /^[a-z]{1,10}$/.test(value))
  return {
    path,
    gitDir,
    index,
    core: core.map(([name, value]) => `${name.slice("core.".length)} = ${value}`),
    isSparse: settings.get(sparse) === "true",
  }
})

const sparse = "core.sparsecheckout"
const settingNames = "^core\\.(filemode|symlinks|ignorecase|autocrlf|eol|checkstat|trustctime|sparsecheckout)$"

/** What the user is in the middle of, in words; null for nothing. */
export const underWay = (origin: Origin, ref: string, trees: ReadonlyArray<UserTree>) =>
  onDisk(async () => {
    for (const { gitDir } of trees) {
      for (const [name, what] of Object.entries(operations)) {
        if ((await lstat(join(gitDir, name)).catch(absent)) !== undefined) return what
      }
    }
    // during a rebase or a bisection the branch is not what HEAD names
    const linked = (await readdir(join(origin.gitDir, "worktrees")).catch(absent)) ?? []
    const gitDirs = [origin.gitDir, ...linked.map((name) => join(origin.gitDir, "worktrees", name))]
    for (const gitDir of gitDirs) {
      for (const file of ["rebase-merge/head-name", "rebase-apply/head-name"]) {
        const name = await readFile(join(gitDir, file), "utf8").catch(absent)
        if (name?.trim() === ref) return "a rebase"
      }
      const bisected = await readFile(join(gitDir, "BISECT_START"), "utf8").catch(absent)
      if (bisected !== undefined && `refs/heads/${bisected.trim()}` === ref) return "a bisection"
    }
    return null
  })

const operations: Readonly<Record<string, string>> = {
  MERGE_HEAD: "a merge",
  CHERRY_PICK_HEAD: "a cherry-pick",
  REVERT_HEAD: "a revert",
  "rebase-merge": "a rebase",
  "rebase-apply": "a rebase",
  sequencer: "a cherry-pick or a revert",
  BISECT_LOG: "a bisection",
}
