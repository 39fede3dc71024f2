/** What git is told: the subcommand behind the global options, and the commands that git itself runs. */
import type { Unwrap } from "#policies/command/wrappers/inner.ts"
import { type Inner, script, valuesAfter, words } from "#policies/command/wrappers/inner.ts"

const optionsWithValue = new Set([
  ...["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"],
  ...["--attr-source", "--list-cmds"],
])

export interface GitWords {
  /** Undefined where there is none. */
  readonly subcommand: string | undefined
  readonly args: ReadonlyArray<string>
  /** `key=value` of `-c`. */
  readonly settings: ReadonlyArray<string>
}

export const readGitWords = (args: ReadonlyArray<string>): GitWords => {
  const settings: Array<string> = []
  let at = 0
  for (; at < args.length && args[at]?.startsWith("-") === true; at++) {
    const word = args[at] ?? ""
    if (word === "-c") settings.push(args[at + 1] ?? "")
    else if (/^-c./.test(word)) settings.push(word.slice(2))
    if (optionsWithValue.has(word)) at++
  }
  return { subcommand: args[at], args: args.slice(at + 1), settings }
}

/** Settings whose value git gives to a shell. */
const commandSettings =
  /^(?:alias\..*|core\.(?:pager|editor|sshcommand|fsmonitor|askpass)|sequence\.editor|pager\..*|diff\.external|.*\.(?:textconv|command|cmd|driver|clean|smudge|process)|credential\..*helper|credential\.helper|gpg\.program|.*\.(?:path|tool))$/i

const ofSetting = (key: string, value: string): ReadonlyArray<Inner> => {
  if (!commandSettings.test(key)) return []
  if (value.startsWith("!")) return [script(value.slice(1))]
  return /^alias\./i.test(key) ? [script(`git ${value}`)] : [script(value)]
}

export const git: Unwrap = ({ args }) => {
  const read = readGitWords(args)
  const inner = read.settings.flatMap((setting) => {
    const equals = setting.indexOf("=")
    return equals < 0 ? [] : ofSetting(setting.slice(0, equals), setting.slice(equals + 1))
  })
  return [...inner, ...ofSubcommand(read)]
}

const ofSubcommand = ({ subcommand, args }: GitWords): ReadonlyArray<Inner> => {
  switch (subcommand) {
    case "config": {
      const [key = "", value] = args.filter((word) => !/^-./.test(word) && word !== "set")
      return value === undefined ? [] : ofSetting(key, value)
    }
    case "rebase":
      return args.flatMap((word, index) => {
        if (word === "-x" || word === "--exec") return [script(args[index + 1] ?? "")]
        const own = /^(?:-x|--exec=)(.+)$/.exec(word)?.[1]
        return own === undefined ? [] : [script(own)]
      })
    case "bisect":
      return args[0] === "run" ? [words(args.slice(1))] : []
    case "submodule": {
      const rest = args.filter((word) => word !== "--recursive" && word !== "-q" && word !== "--quiet")
      return rest[0] === "foreach" ? [script(rest.slice(1).join(" "))] : []
    }
    case "fetch":
    case "pull":
    case "ls-remote":
      return valuesAfter(args, ["--upload-pack"]).map(script)
    case "clone":
      return valuesAfter(args, ["-u", "--upload-pack"]).map(script)
    case "push":
    case "archive":
      return valuesAfter(args, ["--receive-pack", "--exec"]).map(script)
    case "difftool":
      return valuesAfter(args, ["-x", "--extcmd"]).map(script)
    case "grep":
      return args.flatMap((word) => /^(?:-O|--open-files-in-pager=)(.+)$/.exec(word)?.slice(1, 2) ?? []).map(script)
    default:
      return []
  }
}
