/** Code that comes from elsewhere and is run without anybody having seen it. */
import type { Rule } from "#policies/command/rules/rule.ts"
import { type Call, type Presence, when } from "#policies/command/shell/call.ts"
import { hasHole, isKnown, pipeName } from "#policies/command/shell/marks.ts"
import { languageOf, readsInput } from "#policies/command/wrappers/interpreters.ts"
import { readShellWords, shells } from "#policies/command/wrappers/shells.ts"

const isShell = ({ program }: Call): boolean => program !== undefined && shells.has(program)

/** A shell whose script is what comes through the pipe. */
const readsPipe = (call: Call): boolean => {
  if (!isShell(call) || call.input.kind !== "pipe") return false
  const { command, file } = readShellWords(call.args)
  return command === undefined && (file === undefined || /^\/(?:dev\/(?:stdin|fd\/0)|proc\/self\/fd\/0)$/.test(file))
}

const downloads = new Set(["curl", "wget", "fetch", "http", "https", "xh", "aria2c", "invoke-webrequest", "iwr", "irm"])
const conceals = new Set(["base64", "base32", "xxd", "openssl", "gpg", "uudecode", "rev", "tr"])

/** Another interpreter that runs what a download, or something that hides what it is, gives. */
const runsDownload = ({ program = "", args, input }: Call): boolean =>
  (languageOf(program) !== undefined || program === "iex" || program === "invoke-expression") &&
  readsInput(args) &&
  input.kind === "pipe" &&
  input.from.some(({ program: from = "" }) => downloads.has(from) || conceals.has(from))

/** Files that a download of the same command is stored in, by name. */
const storedIn = (all: ReadonlyArray<Call>): ReadonlySet<string> =>
  new Set(
    all
      .filter(({ program = "" }) => downloads.has(program))
      .flatMap(({ args, redirections }) => [
        ...args.flatMap((word, index) => {
          if (/^(?:-[a-zA-Z]*[oO]|--output|--output-document|--out)$/.test(word)) return [args[index + 1] ?? ""]
          return /^(?:-[oO]|--output=|--output-document=|--out=)(.+)$/.exec(word)?.slice(1, 2) ?? []
        }),
        ...args.filter((word) => /^https?:/.test(word)),
        ...redirections.map(({ target }) => target),
      ])
      .filter((file) => isKnown(file) && !file.startsWith("-"))
      .map(fileName),
  )

/** The calls of one command are asked about one after the other. */
const known = new WeakMap<ReadonlyArray<Call>, ReadonlySet<string>>()
const stored = (all: ReadonlyArray<Call>): ReadonlySet<string> => {
  const files = known.get(all) ?? storedIn(all)
  known.set(all, files)
  return files
}

const fileName = (path: string): string =>
  path
    .replace(/[?#].*$/, "")
    .split("/")
    .at(-1) ?? path

/** The file that a call runs as a program or a script. */
const scriptOf = ({ program, words: [first], args, redirections }: Call): string | undefined => {
  const read = redirections.find(({ operator }) => operator === "<")?.target
  if (program !== undefined && shells.has(program)) {
    const { command, file } = readShellWords(args)
    return command === undefined ? (file ?? read) : undefined
  }
  if (program === "." || program === "source") return args[0]
  if (program !== undefined && languageOf(program) !== undefined) {
    return args.find((word) => !word.startsWith("-")) ?? read
  }
  return first.includes("/") ? first : undefined
}

const runsStored = (call: Call, all: ReadonlyArray<Call>): boolean => {
  const file = scriptOf(call)
  if (file === undefined || fileName(file) === "") return false
  return stored(all).has(fileName(file))
}

const invoked = ({ program, args }: Call): Presence =>
  when((program === "iex" || program === "invoke-expression") && args.length > 0)

export const remoteRules: ReadonlyArray<Rule> = [
  {
    pattern: "| sh",
    reason: "runs what comes through a pipe as a script",
    matches: (call) => when(readsPipe(call)),
  },
  {
    pattern: "curl | sh",
    reason: "runs what it downloads",
    matches: (call, all) => when(runsDownload(call) || runsStored(call, all)),
  },
  {
    pattern: "bash <(curl",
    reason: "runs the output of another command as a script",
    matches: (call) => when(scriptOf(call)?.includes(pipeName) === true),
  },
  {
    pattern: "eval $(curl",
    reason: "runs text that is not known before",
    matches: (call) => (call.program === "eval" ? when(call.args.some(hasHole)) : invoked(call)),
  },
]
