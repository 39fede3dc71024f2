/** What a program writes, where that is plain: `echo`, `printf`, and those that give a path. Everything else is unknown. */
import { hole, isKnown } from "#policies/command/shell/marks.ts"

/** Programs that give a path, and so nothing that is an option. */
const paths = new Set(["mktemp", "pwd", "realpath"])

/** What this command may write; shells differ in what `echo` makes of a backslash. */
export const outputsOf = ([program, ...args]: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (program === "echo") return echoed(args)
  if (program === "printf") return [printed(args)]
  return program !== undefined && paths.has(program) ? [`/${hole}`] : [hole]
}

const echoed = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const text = args.filter((arg, index) => index > 0 || !/^-[neE]+$/.test(arg)).join(" ")
  return text.includes("\\") ? [text, unescaped(text)] : [text]
}

const printed = ([format, ...values]: ReadonlyArray<string>): string => {
  if (format === undefined || !isKnown(format) || /%[^s]/.test(format)) return hole
  const pieces = format.split("%s")
  const rounds = pieces.length === 1 ? 1 : Math.max(1, Math.ceil(values.length / (pieces.length - 1)))
  let next = 0
  return Array.from({ length: rounds }, () =>
    pieces.map(unescaped).reduce((text, piece) => `${text}${values[next++] ?? ""}${piece}`),
  ).join("")
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", "\\": "\\", r: "\r" }

const unescaped = (text: string): string =>
  text.replace(/\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|(.))/g, (whole, hex, octal, letter) => {
    if (letter !== undefined) return escapes[letter] ?? whole
    const code = hex === undefined ? Number.parseInt(octal, 8) : Number.parseInt(hex, 16)
    return code < 32 && code !== 10 && code !== 9 ? hole : String.fromCharCode(code)
  })
