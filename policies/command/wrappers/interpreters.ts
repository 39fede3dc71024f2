/** Program texts of other languages on the command line, by a here-document, or from an `echo` before them. */
import { outputsOf } from "#policies/command/shell/outputs.ts"
import { type Inner, script, type Unwrap } from "#policies/command/wrappers/inner.ts"

/** Letters of the options whose value, or whose next word, is a program text. */
const codeOptions: Readonly<Record<string, RegExp>> = {
  python: /^-[a-zA-Z]*c(.*)$/s,
  pypy: /^-[a-zA-Z]*c(.*)$/s,
  node: /^(?:-[a-z]*[ep]|--eval(?:=|$)|--print(?:=|$))(.*)$/s,
  nodejs: /^(?:-[a-z]*[ep]|--eval(?:=|$)|--print(?:=|$))(.*)$/s,
  bun: /^(?:-[ep]|--eval(?:=|$)|--print(?:=|$))(.*)$/s,
  perl: /^-[a-zA-Z0-9]*[eE](.*)$/s,
  ruby: /^-[a-zA-Z]*e(.*)$/s,
  php: /^-[a-zA-Z]*r(.*)$/s,
  lua: /^-e(.*)$/s,
  rscript: /^-e(.*)$/s,
  osascript: /^-e(.*)$/s,
  deno: /^eval()$/s,
}

/** `python3.12` is `python`. */
export const languageOf = (program: string): string | undefined => {
  const name = program.replace(/[\d.]+$/, "")
  return Object.hasOwn(codeOptions, name) ? name : undefined
}

export const interpreter: Unwrap = ({ program = "", args, input }) => {
  const language = languageOf(program)
  const option = language === undefined ? undefined : codeOptions[language]
  if (option === undefined) return []
  const texts = args.flatMap((word, index) => {
    const value = option.exec(word)?.[1]
    return value === undefined ? [] : [value === "" ? (args[index + 1] ?? "") : value]
  })
  if (texts.length > 0) return texts.map(code)
  if (!readsInput(args)) return []
  if (input.kind === "text") return input.texts.map(code)
  if (input.kind !== "pipe") return []
  const [from, ...more] = input.from
  if (from === undefined || more.length > 0) return []
  return outputsOf([from.program ?? "", ...from.args]).map(code)
}

const code = (text: string): Inner => ({ kind: "code", text })

/** Is the program text what comes in? */
export const readsInput = (args: ReadonlyArray<string>): boolean => args.every((word) => word.startsWith("-"))

export const awk: Unwrap = ({ args }) => {
  const text = args.find((word, index) => !word.startsWith("-") && !/^-[Ffv]$/.test(args[index - 1] ?? ""))
  return text === undefined ? [] : [code(text)]
}

/** GNU sed runs the rest of an `e` command. */
export const sed: Unwrap = ({ args }) =>
  args.flatMap((word): ReadonlyArray<Inner> => {
    const run = /(?:^|[;{\n\d$/]\s*)e\s+(\S.*)/s.exec(word)?.[1]
    return run === undefined ? [] : [{ ...script(run), doubtful: true } as Inner]
  })
