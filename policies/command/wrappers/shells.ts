/** Shells, and what the shell itself does with text: `sh -c`, `eval`, `.`, `trap`. */
import type { Call } from "#policies/command/shell/call.ts"
import { hole } from "#policies/command/shell/marks.ts"
import type { Inner, Unwrap } from "#policies/command/wrappers/inner.ts"
import { script, valuesAfter } from "#policies/command/wrappers/inner.ts"

export const shells: ReadonlySet<string> = new Set([
  ...["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish", "csh", "tcsh", "hush", "yash", "posh"],
  ...["nu", "xonsh", "elvish", "osh"],
])

const optionsWithValue = new Set(["--rcfile", "--init-file", "-o", "+o", "-O", "+O"])

export interface ShellWords {
  /** Undefined where the shell reads a file or its input. */
  readonly command: string | undefined
  /** The file with the script; undefined where it reads its input. */
  readonly file: string | undefined
  readonly positions: ReadonlyArray<string>
}

/** What a shell was told to run. */
export const readShellWords = (args: ReadonlyArray<string>): ShellWords => {
  let command = false
  let input = false
  let at = 0
  for (; at < args.length; at++) {
    const word = args[at] ?? ""
    if (word === "--" || word === "-") {
      at++
      break
    }
    if (!/^[-+]./.test(word)) break
    if (/^--com/.test(word)) command = true
    if (/^-[^-]/.test(word)) {
      command ||= word.includes("c")
      input ||= word.includes("s")
    }
    if (optionsWithValue.has(word) || /^-[a-zA-Z]*o$/.test(word)) at++
  }
  const [first, ...positions] = args.slice(at)
  if (command) return { command: first ?? "", file: undefined, positions }
  return input || first === undefined
    ? { command: undefined, file: undefined, positions: first === undefined ? [] : ["sh", first, ...positions] }
    : { command: undefined, file: first, positions: [first, ...positions] }
}

const inShell: Unwrap = (call) => {
  const { command, file, positions } = readShellWords(call.args)
  if (command !== undefined) return [{ kind: "script", text: command, positions }]
  return file === undefined ? fromInput(call) : []
}

/** The script that comes by a here-document, or from an `echo` before it. */
const fromInput = ({ input }: Call): ReadonlyArray<Inner> => (input.kind === "text" ? input.texts.map(script) : [])

const evaluated: Unwrap = ({ args }) => {
  const list = args[0] === "--" ? args.slice(1) : args
  return list.length === 0 ? [] : [script(list.join(" "))]
}

const trapped: Unwrap = ({ args }) => {
  const [action] = args.filter((word) => !/^-./.test(word))
  return action === undefined || action === "-" || action === "" ? [] : [script(action)]
}

const sourced: Unwrap = ({ args: [file], input }) =>
  file !== undefined && /^\/dev\/(?:stdin|fd\/0)$/.test(file) && input.kind !== "text" ? [script(hole)] : []

/** For each line, or so many of them: `mapfile -C 'rm' -c 1`. */
const callback: Unwrap = ({ args }) => valuesAfter(args, ["-C"]).map(script)

/** Where the shell takes a word for the name of a variable, or for a sum, it runs what stands in its brackets: `let 'a[$(rm x)]'`. */
const subscripts: Unwrap = ({ args }) =>
  args
    .filter((word) => /\[.*(?:\$\(|`)/s.test(word))
    .map((word): Inner => ({ kind: "script", text: `(( ${word} ))`, doubtful: true }))

export const shellWrappers: Readonly<Record<string, Unwrap>> = {
  ...Object.fromEntries([...shells].map((name) => [name, inShell])),
  eval: evaluated,
  trap: trapped,
  ".": sourced,
  source: sourced,
  mapfile: callback,
  readarray: callback,
  ...Object.fromEntries(["let", "test", "[", "printf", "read", "unset"].map((name) => [name, subscripts])),
}
