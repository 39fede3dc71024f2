/**
 * What a provider says is wrong, in whichever form it says it: the codes that it gives and its text. The text
 * may repeat a prompt or a key: it is read to tell cases apart, and never shown.
 */

export interface Problem {
  /** Short names such as `rate_limit_exceeded`, the most specific first. */
  readonly codes: ReadonlyArray<string>
  /** In lower case. */
  readonly text: string
}

const codeForm = /^[A-Za-z][A-Za-z0-9_.-]{1,63}$/
/** Characters of a body that are looked at. */
const maxText = 20_000

/** Of a body of an answer, or of an error part of a stream. */
export const problemOf = (body: unknown): Problem => {
  const value = typeof body === "string" ? parsed(body) : body
  const codes: Array<string> = []
  const texts: Array<string> = []
  collect(value, codes, texts, 0)
  return { codes: [...new Set(codes)], text: texts.join(" ").slice(0, maxText).toLowerCase() }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Deep enough for `{ error: { innererror: { code } } }` in a list. */
const maxDepth = 5

const collect = (value: unknown, codes: Array<string>, texts: Array<string>, depth: number): void => {
  if (typeof value === "string") return void texts.push(value)
  if (typeof value !== "object" || value === null || depth > maxDepth) return
  // the innermost code says the most
  for (const [key, member] of Object.entries(value)) {
    if (key !== "code" && key !== "type" && key !== "status") collect(member, codes, texts, depth + 1)
  }
  for (const key of ["code", "type", "status"] as const) {
    const code: unknown = Reflect.get(value, key)
    if (typeof code === "string" && codeForm.test(code) && code !== "error") codes.push(code)
  }
}
