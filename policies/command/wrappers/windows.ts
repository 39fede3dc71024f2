/** PowerShell and the Windows command interpreter, as they are started from a shell. */
import { type Inner, script, type Unwrap } from "#policies/command/wrappers/inner.ts"

export const powershell: Unwrap = ({ args, input }) => {
  const at = args.findIndex((word) => /^[-/](?:c(?:o(?:m(?:m(?:a(?:n(?:d)?)?)?)?)?)?|commandwithargs|cwa)$/i.test(word))
  if (at >= 0) return [text(args.slice(at + 1).join(" "))]
  const encoded = args.findIndex((word) => /^[-/]e(?:c|n(?:c.*)?)?$/i.test(word))
  if (encoded >= 0) return [text(decoded(args[encoded + 1] ?? ""))]
  if (input.kind === "text") return input.texts.map(text)
  const first = args.findIndex((word) => !/^[-/]/.test(word))
  return first < 0 ? [] : [text(args.slice(first).join(" "))]
}

const text = (value: string): Inner => ({ kind: "powershell", text: value })

export const invokeExpression: Unwrap = ({ args }) => (args.length === 0 ? [] : [text(args.join(" "))])

/** Base64 of UTF-16; the characters of a text that is none are no program. */
const decoded = (encoded: string): string => {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(encoded) || encoded.length % 4 !== 0) return ""
  return new TextDecoder("utf-16le").decode(Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0)))
}

export const commandPrompt: Unwrap = ({ args }) => {
  const at = args.findIndex((word) => /^\/[ckr]/i.test(word))
  if (at < 0) return []
  const own = (args[at] ?? "").slice(2)
  return [script([own, ...args.slice(at + 1)].join(" ").replaceAll("^", "").replaceAll("\\", "/"))]
}

/** The commands of a PowerShell text as lists of words: quotes and back-ticks removed. */
export const powershellCommands = (source: string): ReadonlyArray<ReadonlyArray<string>> => {
  const commands: Array<Array<string>> = [[]]
  for (const [token] of source.replaceAll("`", "").matchAll(/'[^']*'|"[^"]*"|[;|&{}()\n]|[^\s;|&{}()'"]+/g)) {
    if (/^[;|&{}()\n]$/.test(token)) commands.push([])
    else commands.at(-1)?.push(token.replace(/^(['"])(.*)\1$/s, "$2"))
  }
  return commands.filter((command) => command.length > 0)
}
