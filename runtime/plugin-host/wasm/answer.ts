/** Reads what a policy answered: bytes that should be JSON, of bounded depth. */

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

export type Answer =
  | { readonly ok: true; readonly value: unknown; readonly text: string }
  | { readonly ok: false; readonly message: string }

export const readAnswer = (bytes: Uint8Array | undefined, mostDepth: number): Answer => {
  if (bytes === undefined) return { ok: false, message: "the policy gave no answer" }
  try {
    const text = strict.decode(bytes)
    if (isDeeperThan(text, mostDepth)) return { ok: false, message: `the answer is nested more than ${mostDepth} deep` }
    return { ok: true, value: JSON.parse(text), text }
  } catch (error) {
    if (error instanceof SyntaxError) return { ok: false, message: `the answer is not JSON: ${error.message}` }
    if (error instanceof TypeError) return { ok: false, message: "the answer is not UTF-8" }
    throw error
  }
}

const quote = 0x22
const backslash = 0x5c

/** Counts brackets outside of strings, before anything is built from the text. */
const isDeeperThan = (text: string, most: number): boolean => {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === backslash) at++
      else if (code === quote) inString = false
    } else if (code === quote) inString = true
    else if (code === 0x7b || code === 0x5b) {
      depth++
      if (depth > most) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}
