/** What a log line may hold: no credential, and no more than it can carry. */
import { redact } from "#core/redaction.ts"

/** Characters of one text; the rest is cut. */
const maxText = 16_384
/** Levels of nested objects. */
const maxDepth = 6
/** Entries of one object or list. */
const maxEntries = 100

const mark = "[redacted]"

/** Names of fields whose texts are credentials, whatever they look like. */
const secretName =
  /^(?:.*(?:password|passwd|secret|credential|authorization|cookie)|.*(?:api|access|private|internal)[_-]?key|(?:.*[_-])?token|.*[a-z]Token|bearer)$/i

export const cleanText = (text: string): string =>
  text.length <= maxText ? redact(text) : `${redact(text.slice(0, maxText))}… [${text.length - maxText} characters cut]`

export const cleanFields = (fields: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields)
      .slice(0, maxEntries)
      .map(([name, value]) => [name, clean(name, value, 1)]),
  )

const clean = (name: string, value: unknown, depth: number): unknown => {
  switch (typeof value) {
    case "string":
      return secretName.test(name) ? mark : cleanText(value)
    case "bigint":
      return value.toString()
    case "function":
    case "symbol":
      return undefined
    case "object":
      return value === null ? null : cleanObject(name, value, depth)
    default:
      return value
  }
}

const cleanObject = (name: string, value: object, depth: number): unknown => {
  if (value instanceof Error) return cleanError(value, depth)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (depth >= maxDepth) return "[nested too deeply]"
  // Redacted and DateTime say themselves how they are shown
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const shown: unknown = value.toJSON()
    return shown === value ? "[object]" : clean(name, shown, depth + 1)
  }
  if (value instanceof Map || value instanceof Set) return clean(name, [...value], depth)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (Array.isArray(value)) {
    // a list under a secret name is a list of secrets
    return value.slice(0, maxEntries).map((entry: unknown) => clean(name, entry, depth + 1))
  }
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, maxEntries)
      .map(([key, inner]) => [key, clean(key, inner, depth + 1)]),
  )
}

const cleanError = (error: Error, depth: number): unknown => ({
  type: error.name,
  message: cleanText(error.message),
  ...(error.stack === undefined ? {} : { stack: cleanText(error.stack) }),
  ...(error.cause === undefined || depth >= maxDepth ? {} : { cause: clean("cause", error.cause, depth + 1) }),
})
