/**
 * The user's repository: where its parts are, its branches, and the two ways in which it is changed: objects
 * are brought in (unpacked and checked), refs are moved by compare-and-swap. No hook runs.
 */
import { readFile, realpath, stat } from "node:fs/promises"
import { Effect } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { codeOf, failed, onDisk, succeeded } from "#runtime/git/failed.ts"
import { branchRef, isCommitId } from "#runtime/git/names.ts"
import { git, gitIn, type Owner } from "#runtime/git/program.ts"

export interface Origin {
  /** The working directory of the user. Real path. */
  readonly repository: string
  /** The git directory that all working trees of it share. */
  readonly gitDir: string
  readonly objects: string
  readonly objectFormat: "sha1" | "sha256"
  /** The commits whose parents are not there, as git writes them; null for a whole repository. */
  readonly shallow: string | null
  /** Whose files they are, where the service is root and they are not. */
  readonly owner: Owner | undefined
}

const emptyOrGone = (error: unknown): null => {
  if (codeOf(error) === "ENOENT") return null
  throw error
}

export const findOrigin = Effect.fn("Checkouts.findOrigin")(function* (repository: string) {
  const notOne = failed("not_a_repository", "The working directory is not a git repository.")
  const path = yield* Effect.mapError(
    onDisk(() => realpath(repository)),
    () => notOne,
  )
  const asked = yield* git(path, [
    "rev-parse",
    "--path-format=absolute",
    "--show-object-format",
    "--git-common-dir",
    "--git-path",
    "objects",
  ])
  // a path that contains a line feed cannot be told from two
  const [format, gitDir, objects, rest] = asked.stdout.split("\n")
  if (asked.code !== 0 || !gitDir || !objects || rest !== "") return yield* notOne
  if (format !== "sha1" && format !== "sha256") return yield* notOne
  const { uid, gid } = yield* onDisk(() => stat(gitDir))
  const isRoot = process.getuid?.() === 0
  return {
    repository: path,
    gitDir,
    objects,
    objectFormat: format,
    shallow: yield* onDisk(() => readFile(`${gitDir}/shallow`, "utf8").catch(emptyOrGone)),
    owner: isRoot && uid !== 0 ? { uid, gid } : undefined,
  } satisfies Origin
})

/** The commits of full ids, refs and `HEAD`, each or null. The names must be in order: they are lines. */
const headsOf = Effect.fnUntraced(function* (
  origin: Origin,
  names: ReadonlyArray<string>,
): Effect.fn.Return<ReadonlyArray<string | null>, CheckoutFailed> {
  const output = yield* succeeded(
    gitIn({
      gitDir: origin.gitDir,
      args: ["cat-file", "--batch-check=%(objectname) %(objecttype)"],
      stdin: names.map((name) => `${name}^{commit}\n`).join(""),
      owner: origin.owner,
    }),
    "read the branches",
  )
  const lines = output.toString("utf8").split("\n")
  return names.map((_, at) => /^([0-9a-f]+) commit$/.exec(lines[at] ?? "")?.[1] ?? null)
})

/** The commit of a ref, or null. */
export const headOf = (origin: Origin, ref: string): Effect.Effect<string | null, CheckoutFailed> =>
  Effect.map(headsOf(origin, [ref]), ([head = null]) => head)

/** The commit that a branch, a commit's full id or `HEAD` names, and that of `ref` beside it. */
export const resolveBase = Effect.fnUntraced(function* (origin: Origin, base: string, ref: string) {
  const name = base === "HEAD" || isCommitId(base) ? base : yield* branchRef(base)
  const [commit = null, beside = null] = yield* headsOf(origin, [name, ref])
  if (commit !== null) return { commit, beside }
  if (isCommitId(base)) return yield* failed("unknown_branch", "The repository has no such commit.")
  const head = yield* gitIn({ gitDir: origin.gitDir, args: ["symbolic-ref", "--quiet", "HEAD"], owner: origin.owner })
  const isUnborn = name === "HEAD" || head.stdout.toString("utf8").trim() === name
  return yield* failed(
    "unknown_branch",
    isUnborn
      ? "The branch has no commit yet. Make a first one in the repository."
      : `The repository has no branch ${base}.`,
  )
})

/** No commit: what a ref that does not exist is at. */
const noCommit = (origin: Origin): string => "0".repeat(origin.objectFormat === "sha1" ? 40 : 64)

/**
 * Moves a ref from `from` (null: it must not exist) to `to` (null: it is removed), in one step; false where
 * it was somewhere else. The objects of `to` must be there.
 */
export const moveRef = Effect.fnUntraced(function* (
  origin: Origin,
  ref: string,
  from: string | null,
  to: string | null,
  why: string,
) {
  const none = noCommit(origin)
  const line = to === null ? `delete ${ref}\0${from ?? none}\0` : `update ${ref}\0${to}\0${from ?? none}\0`
  const moved = yield* gitIn({
    gitDir: origin.gitDir,
    args: ["update-ref", "--create-reflog", "-m", why, "--stdin", "-z"],
    // the reflog has to name somebody
    settings: ["user.name=svc", "user.email=svc@localhost"],
    stdin: line,
    owner: origin.owner,
  })
  if (moved.code === 0) return true
  // lost to another writer, or unable to write at all: the ref tells
  if ((yield* headOf(origin, ref)) !== from) return false
  return yield* failed("unavailable", "The branch could not be written in the repository.")
})
