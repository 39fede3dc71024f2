/** Where two values of JSON begin to differ, in words for people. */

export interface Difference {
  /** `messages[3].results[0].text`. */
  readonly path: string
  readonly expected: string
  readonly actual: string
}

/** Characters of each side that are shown: some before the difference, more after it. */
const before = 40
const after = 120

/** Undefined where they are the same. */
export const firstDifference = (expected: unknown, actual: unknown, path = ""): Difference | undefined => {
  if (expected === actual) return undefined
  if (typeof expected === "string" && typeof actual === "string") return differenceOfTexts(expected, actual, path)
  if (Array.isArray(expected) && Array.isArray(actual)) {
    for (let index = 0; index < Math.max(expected.length, actual.length); index++) {
      const found = firstDifference(expected[index], actual[index], `${path}[${index}]`)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (isObject(expected) && isObject(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const found = firstDifference(own(expected, key), own(actual, key), path === "" ? key : `${path}.${key}`)
      if (found !== undefined) return found
    }
    return undefined
  }
  return { path, expected: shown(expected), actual: shown(actual) }
}

/** Nothing that every object has, such as `__proto__`. */
const own = (value: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(value, key) ? value[key] : undefined

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const differenceOfTexts = (expected: string, actual: string, path: string): Difference => {
  let at = 0
  while (expected[at] === actual[at]) at += 1
  const line = expected.slice(0, at).split("\n").length
  const around = (text: string): string => {
    const from = Math.max(at - before, 0)
    const piece = text.slice(from, at + after)
    return `${from > 0 ? "…" : ""}${JSON.stringify(piece)}${at + after < text.length ? "…" : ""}`
  }
  return { path: line > 1 ? `${path} (line ${line})` : path, expected: around(expected), actual: around(actual) }
}

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > after ? `${text.slice(0, after)}…` : text
}
