/**
 * Settles a conflict where one side is all of the other and more: a file becomes as `theirs` has it where three-way
 * evidence shows that no change of `ours` is lost by it. Every file that conflicts must be so, else nothing is settled.
 */
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { Effect } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { holdsEvery, hunksIn } from "#runtime/git/evidence.ts"
import { failed, succeeded } from "#runtime/git/failed.ts"
import { longPatience, maxListBytes, maxShownBytes, maxShownDiffBytes } from "#runtime/git/limits.ts"
import { gitIn } from "#runtime/git/program.ts"

export interface Settled {
  readonly tree: string
  /** What is as `theirs` has it, sorted. */
  readonly files: ReadonlyArray<string>
}

/** A file that both sides changed: the ids of its three versions. */
export interface Disputed {
  readonly path: string
  readonly mode: string
  readonly base: string
  readonly ours: string
  readonly theirs: string
}

/** Files of one merge that are looked at. */
const maxFiles = 50

/** Undefined: there is no evidence. `gitDir` gets the objects; both are full ids of commits. */
export const acceptChild = Effect.fn("Checkouts.acceptChild")(function* (
  gitDir: string,
  ours: string,
  theirs: string,
): Effect.fn.Return<Settled | undefined, CheckoutFailed> {
  const found = yield* disputed(gitDir, ours, theirs)
  if (found === undefined) return undefined
  for (const file of found.files) if (!(yield* hasEvidence(gitDir, file))) return undefined
  const index = join(gitDir, `settled-${randomBytes(6).toString("hex")}`)
  const run = (args: ReadonlyArray<string>, stdin?: string) =>
    succeeded(gitIn({ gitDir, index, args, stdin, timeout: longPatience }), "settle the conflict")
  yield* run(["read-tree", found.tree])
  const entries = found.files.map((file) => `${file.mode} ${file.theirs} 0\t${file.path}\0`)
  yield* run(["update-index", "-z", "--index-info"], entries.join(""))
  const tree = (yield* run(["write-tree"])).toString("latin1").trim()
  return { tree, files: found.files.map(({ path }) => path).sort() }
})

/** Is every change of `ours` also in `theirs`? */
export const hasEvidence = Effect.fnUntraced(function* (
  gitDir: string,
  { base, ours, theirs }: Disputed,
): Effect.fn.Return<boolean, CheckoutFailed> {
  const [inOurs, inTheirs] = yield* Effect.all([changes(gitDir, base, ours), changes(gitDir, base, theirs)])
  return inOurs !== undefined && inTheirs !== undefined && holdsEvery(inTheirs, inOurs)
})

const changes = Effect.fnUntraced(function* (gitDir: string, from: string, to: string) {
  const plain = ["--no-ext-diff", "--no-textconv", "--no-color", "--diff-algorithm=histogram", "--no-indent-heuristic"]
  const args = ["diff", "-U0", "--inter-hunk-context=0", ...plain, from, to]
  const output = yield* gitIn({ gitDir, args, maxOutput: maxShownDiffBytes })
  if (output.truncated) return undefined
  if (output.code !== 0) return yield* failed("unavailable", "Git could not compare the files in conflict.")
  // byte for byte: two lines that are no text may not look the same
  return hunksIn(output.stdout.toString("latin1"))
})

/** What conflicts, and the tree around it. Undefined where anything is in dispute but the lines of plain files. */
export const disputed = Effect.fnUntraced(function* (gitDir: string, ours: string, theirs: string) {
  const bases = yield* succeeded(gitIn({ gitDir, args: ["merge-base", "--all", ours, theirs] }), "compare the commits")
  const [base = "", ...others] = bases.toString("latin1").trim().split("\n")
  if (others.length > 0) return undefined
  const args = ["merge-tree", "--write-tree", "-z", "--messages", ours, theirs]
  const merge = yield* gitIn({ gitDir, args, maxOutput: maxListBytes, timeout: longPatience })
  // what depends on the hour is a failure: it would be settled at one time, and in dispute at another
  if (merge.code !== 1) return yield* failed("unavailable", "Git could not merge the commits.")
  const { tree, versions, kinds } = partsOf(merge.stdout.toString("utf8"))
  if (!kinds.every((kind) => kind === "Auto-merging" || kind === "CONFLICT (contents)")) return undefined
  const paths = [...new Set(versions.map(({ path }) => path))]
  if (paths.length === 0 || paths.length > maxFiles || paths.some((path) => path.includes("\ufffd"))) return undefined
  const [inBase, inOurs, inTheirs] = yield* Effect.all([
    plainFiles(gitDir, base, paths),
    plainFiles(gitDir, ours, paths),
    plainFiles(gitDir, theirs, paths),
  ])
  const files: Array<Disputed> = []
  for (const path of paths) {
    const [one, two, three] = [inBase.get(path), inOurs.get(path), inTheirs.get(path)]
    if (one === undefined || two === undefined || three === undefined) return undefined
    if (one.mode !== two.mode || two.mode !== three.mode) return undefined
    // under the same name on all sides: a rename would have brought another version
    const here = versions.filter((version) => version.path === path).map(({ id }) => id)
    if (here.join() !== [one.id, two.id, three.id].join()) return undefined
    files.push({ path, mode: one.mode, base: one.id, ours: two.id, theirs: three.id })
  }
  return { tree, files }
})

interface Version {
  readonly id: string
  readonly path: string
}

/** The tree, then `mode id stage TAB path` for each version, then after an empty part the messages. */
const partsOf = (text: string) => {
  const [tree = "", ...parts] = text.split("\0")
  const end = parts.indexOf("")
  const versions = parts.slice(0, end).map((part): Version => {
    const [, id = ""] = part.split(" ", 2)
    return { id, path: part.slice(part.indexOf("\t") + 1) }
  })
  const kinds: Array<string> = []
  // each is the number of paths, the paths, the kind, and the text for people
  for (let at = end + 1; at < parts.length - 1; ) {
    const kind = at + 1 + Number(parts[at])
    kinds.push(parts[kind] ?? "")
    at = kind + 2
  }
  return { tree, versions, kinds }
}

/** Those of the paths that are files of a size that can be looked at: no links, folders or submodules. */
const plainFiles = Effect.fnUntraced(function* (gitDir: string, commit: string, paths: ReadonlyArray<string>) {
  const args = ["ls-tree", "-z", "-l", "--full-tree", commit, "--", ...paths]
  const output = yield* succeeded(gitIn({ gitDir, args, maxOutput: maxListBytes }), "list the files in conflict")
  const entries = output
    .toString("utf8")
    .split("\0")
    .slice(0, -1)
    .flatMap((entry) => {
      const tab = entry.indexOf("\t")
      const [mode = "", type, id = "", size] = entry.slice(0, tab).split(/ +/)
      const isPlain = type === "blob" && mode.startsWith("100") && Number(size) <= maxShownBytes
      return isPlain ? [[entry.slice(tab + 1), { mode, id }] as const] : []
    })
  return new Map(entries)
})
