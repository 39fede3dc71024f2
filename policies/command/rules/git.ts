/** Work that git would lose, here or for others. */
import type { DefaultPattern } from "#core/sandbox-policy/default-patterns.ts"
import type { Rule } from "#policies/command/rules/rule.ts"
import { both, type Call, either, given, operands, type Presence, when } from "#policies/command/shell/call.ts"
import { isKnown, mayBeOption } from "#policies/command/shell/marks.ts"
import { readGitWords } from "#policies/command/wrappers/git.ts"

/** A rule about one subcommand. One that is not known may be any. */
const gitRule = (
  subcommand: string,
  pattern: DefaultPattern,
  reason: string,
  matches: (args: ReadonlyArray<string>) => Presence,
): Rule => ({
  pattern,
  reason,
  matches: (call: Call) => {
    if (call.program !== "git") return "no"
    const read = readGitWords(call.args)
    if (read.subcommand === undefined) return call.args.some(mayBeOption) ? "unknown" : "no"
    if (!isKnown(read.subcommand)) return "unknown"
    return read.subcommand.toLowerCase() === subcommand ? matches(read.args) : "no"
  },
})

/** What is pushed: the words behind the name of the remote. */
const refspecs = (args: ReadonlyArray<string>): ReadonlyArray<string> => operands(args).slice(1)

const pushesByForce = (args: ReadonlyArray<string>): Presence =>
  either(
    given(args, { short: "f", long: ["force", "force-with-lease", "force-if-includes", "mirror"] }),
    when(refspecs(args).some((word) => word.startsWith("+"))),
  )

const pushesDelete = (args: ReadonlyArray<string>): Presence =>
  either(
    given(args, { short: "d", long: ["delete", "prune"] }),
    when(refspecs(args).some((word) => word.startsWith(":"))),
  )

const deletesBranch = (args: ReadonlyArray<string>): Presence =>
  either(
    given(args, { short: "D" }),
    both(given(args, { short: "d", long: ["delete"] }), given(args, { short: "f", long: ["force"] })),
  )

const first = (args: ReadonlyArray<string>, ...names: ReadonlyArray<string>): Presence =>
  when(names.includes(operands(args)[0] ?? ""))

export const gitRules: ReadonlyArray<Rule> = [
  gitRule("push", "git push --force", "overwrites the history of a remote branch", pushesByForce),
  gitRule("push", "git push --delete", "deletes branches or tags of the remote", pushesDelete),
  gitRule("reset", "git reset --hard", "throws away changes that are not committed", (args) =>
    given(args, { long: ["hard"] }),
  ),
  gitRule("branch", "git branch -D", "deletes a branch whose commits may be nowhere else", deletesBranch),
  gitRule("clean", "git clean -fd", "deletes files that git does not know", (args) =>
    given(args, { short: "f", long: ["force"] }),
  ),
  gitRule("stash", "git stash clear", "throws away changes that were put aside", (args) =>
    first(args, "clear", "drop"),
  ),
  gitRule("reflog", "git reflog expire", "removes the way back to older states", (args) =>
    first(args, "expire", "delete"),
  ),
  gitRule("filter-branch", "git filter-branch", "rewrites the history", () => "yes"),
  gitRule("filter-repo", "git filter-repo", "rewrites the history", () => "yes"),
]
