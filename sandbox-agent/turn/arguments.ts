/** Arguments as the model wrote them: read as if an attacker had written them, and cleaned for whoever stores them. */
import { cutMiddle } from "#sandbox-agent/turn/cut.ts"

/** Levels of objects and arrays. */
const maxDepth = 64
/** Characters of arguments: room for a file of 4 MiB, escaped. */
const maxCharacters = 16_777_216
/** Characters of one text, and of all, that an event shows. */
const maxToldText = 16_384
const maxTold = 65_536

export type Arguments =
  | { readonly _tag: "Read"; readonly value: Readonly<Record<string, unknown>> }
  | { readonly _tag: "Unreadable"; readonly problem: string }

export const readArguments = (text: string): Arguments => {
  if (text.trim() === "") return { _tag: "Read", value: {} }
  if (text.length > maxCharacters) return unreadable("They are too long.")
  if (isDeep(text)) return unreadable(`They have more than ${maxDepth} levels.`)
  try {
    const value: unknown = JSON.parse(text, (key, member) => (key === "__proto__" ? undefined : member))
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return unreadable("They are no JSON object.")
    return { _tag: "Read", value: { ...value } }
  } catch (error) {
    return unreadable(error instanceof SyntaxError ? `They are no JSON: ${error.message}` : "They are no JSON.")
  }
}

const unreadable = (problem: string): Arguments => ({ _tag: "Unreadable", problem })

/** More brackets are open than may be, outside of texts. Reading what is too deep could exhaust the stack. */
const isDeep = (text: string): boolean => {
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (quoted) {
      if (char === "\\") at += 1
      else if (char === '"') quoted = false
    } else if (char === '"') quoted = true
    else if (char === "{" || char === "[") depth += 1
    else if (char === "}" || char === "]") depth -= 1
    if (depth > maxDepth) return true
  }
  return false
}

/** For storage. It stays JSON where it was JSON; the same text where there is nothing to take out. */
export const cleanArguments = (text: string, redact: (text: string) => string): string => {
  const read = readArguments(text)
  if (read._tag === "Unreadable") return redact(text)
  const before = JSON.stringify(read.value)
  const inside = JSON.stringify(cleaned(read.value, redact))
  // what shows only together with its name, such as "password": "…"
  const whole = redact(inside)
  const clean = readArguments(whole)._tag === "Read" ? whole : inside
  return clean === before ? text : clean
}

/** For `tool.call`: clean, and no longer than a reader wants. */
export const toldArguments = (text: string, redact: (text: string) => string): unknown => {
  const clean = cleanArguments(text, redact)
  const read = readArguments(clean)
  if (read._tag === "Unreadable") return cutMiddle(clean, maxToldText)
  const short = mapTexts(read.value, (one) => cutMiddle(one, maxToldText))
  return JSON.stringify(short).length <= maxTold ? short : cutMiddle(clean, maxToldText)
}

const cleaned = (value: unknown, redact: (text: string) => string): unknown => mapTexts(value, redact)

/** Names of members as well as their texts. */
const mapTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === "string") return change(value)
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [change(key), mapTexts(one, change)]))
}
