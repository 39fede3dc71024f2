/**
 * Reads a JSON body strictly: what JSON.parse lets through and later code trips over is refused with
 * its path. Refused are: repeated member names, `__proto__` and its relatives, NUL and unpaired
 * surrogates, numbers beyond a double, nesting deeper than 64. Bytes must be UTF-8.
 */
import { Effect } from "effect"
import { type Issue, type Refusal, refuse } from "#core/refusal.ts"

/** Levels of arrays and objects. */
export const maxDepth = 64

/** Names that mean something to the prototype of an object. */
const forbiddenNames: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"])

const utf8 = new TextDecoder("utf-8", { fatal: true })

export const parseJson = (bytes: Uint8Array): Effect.Effect<unknown, Refusal> => {
  let text: string
  let value: unknown
  try {
    text = utf8.decode(bytes)
  } catch {
    return refuse("invalid_json", { message: "The body is not valid UTF-8." })
  }
  try {
    value = JSON.parse(text)
  } catch (error) {
    return refuse("invalid_json", { message: `The body is not valid JSON${positionOf(error, text)}.` })
  }
  const issue = firstIssue(text)
  return issue === undefined
    ? Effect.succeed(value)
    : refuse("invalid_json", { message: `${issue.path}: ${issue.message}`, issues: [issue] })
}

/** Where the parser stopped; its own message would repeat part of the body. */
const positionOf = (error: unknown, text: string): string => {
  const position = error instanceof Error ? /at position (\d+)/.exec(error.message)?.[1] : undefined
  if (position === undefined) return ""
  const before = text.slice(0, Number(position)).split("\n")
  return ` (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`
}

/** An object (`names` seen so far) or an array (`names` absent) that is open, and where in it we are. */
interface Level {
  readonly names: Set<string> | undefined
  at: string | number
  expectsName: boolean
}

/** `text` is known to be valid JSON, so only what JSON allows and we do not is looked for. */
const firstIssue = (text: string): Issue | undefined => {
  const levels: Array<Level> = []
  let index = 0
  while (index < text.length) {
    const level = levels.at(-1)
    switch (text.charCodeAt(index)) {
      case openBrace:
      case openBracket: {
        if (levels.length === maxDepth) return issueAt(levels, `Expected at most ${maxDepth} levels of nesting`)
        const isObject = text.charCodeAt(index) === openBrace
        levels.push({ names: isObject ? new Set() : undefined, at: isObject ? "" : 0, expectsName: isObject })
        index++
        break
      }
      case closeBrace:
      case closeBracket:
        levels.pop()
        index++
        break
      case comma:
        if (level?.names !== undefined) level.expectsName = true
        else if (level !== undefined) level.at = Number(level.at) + 1
        index++
        break
      case quote: {
        const end = endOfString(text, index)
        const value = stringAt(text, index, end)
        index = end
        if (level?.names !== undefined && level.expectsName) {
          level.at = value
          level.expectsName = false
          if (level.names.has(value)) return issueAt(levels, "This name occurs twice")
          if (forbiddenNames.has(value)) return issueAt(levels, "This name is not allowed")
          level.names.add(value)
        }
        if (value.includes("\0")) return issueAt(levels, "Expected text without NUL characters")
        if (!value.isWellFormed()) return issueAt(levels, "Expected text without unpaired surrogates")
        break
      }
      default: {
        const end = endOfScalar(text, index)
        if (end === index) index++
        else if (!Number.isFinite(Number(text.slice(index, end)))) return issueAt(levels, "Expected a smaller number")
        else index = end
      }
    }
  }
  return undefined
}

const [quote, comma, openBracket, closeBracket, openBrace, closeBrace, backslash] = [34, 44, 91, 93, 123, 125, 92]

const issueAt = (levels: ReadonlyArray<Level>, message: string): Issue => ({
  path: levels.reduce(
    (path, { at, names }) => (names === undefined ? `${path}[${at}]` : at === "" ? path : `${path}.${at}`),
    "body",
  ),
  message,
})

/** Index after the closing quote of the string that begins at `start`. */
const endOfString = (text: string, start: number): number => {
  let end = start
  for (;;) {
    end = text.indexOf('"', end + 1)
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return end + 1
  }
}

/** The string between the quotes. */
const stringAt = (text: string, start: number, end: number): string => {
  const raw = text.slice(start + 1, end - 1)
  return raw.includes("\\") ? String(JSON.parse(`"${raw}"`)) : raw
}

/** Index after the number that begins at `start`; `start` itself where none begins. */
const endOfScalar = (text: string, start: number): number => {
  number.lastIndex = start
  return number.test(text) ? number.lastIndex : start
}

const number = /-?\d[\d.eE+-]*/y
