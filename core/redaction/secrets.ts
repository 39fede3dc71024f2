/**
 * Finds credentials in one line of text, by their form and by registered value. Every form is found in time linear in
 * the text: no form begins with something that repeats.
 */
import type { Span } from "#core/redaction/span.ts"

/** What is secret is the whole match, or its group `secret` where it has one. */
const forms: ReadonlyArray<RegExp> = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/dg,
  /\b(?:bearer|basic)["']?[ \t]{1,8}["']?(?<secret>[A-Za-z0-9._~+/-]{8,}=*)/dgi,
  /\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[0-9A-Z]{16}\b/dg,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/dg,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/dg,
  /\bgl(?:pat|dt|rt|ptt|ft|soat|agent|imt|cbt)-[A-Za-z0-9_-]{16,}/dg,
  /\bATATT3[A-Za-z0-9_=-]{20,}/dg,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/dg,
  /\bxapp-[A-Za-z0-9-]{10,}/dg,
  /\bnpm_[A-Za-z0-9]{30,}/dg,
  /\bpypi-[A-Za-z0-9_-]{30,}/dg,
  /\bsk-[A-Za-z0-9_-]{20,}/dg,
  /\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}/dg,
  /\bAIza[A-Za-z0-9_-]{30,}/dg,
  /\bya29\.[A-Za-z0-9_-]{20,}/dg,
  /\bsvc_[A-Za-z0-9_-]{32,}/dg,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*/dg,
  /:\/\/[^\s/:@"']{0,256}:(?<secret>[^\s/@"']{3,1024})@/dg,
]

/** `password=…`, `"api_key": "…"`, `sig=…`: the name, how it is joined, and the value. */
const assignment =
  /(?:(?:api|secret|access|private|signing|encryption|account|shared|storage|subscription)[_-]?(?:key|token|secret)|(?:auth|refresh|id|session|bot|deploy)[_-]?token|(?:client|app|webhook)[_-]?secret|password|passwd|passphrase|(?<![a-z])pwd|(?<![a-z])sig(?:nature)?)["']?[ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}(?:"(?<double>(?:[^"\\]|\\.)*)|'(?<single>(?:[^'\\]|\\.)*)|(?<bare>[^\s"'&,;]+))/dgi

const shortest = 4

/** Names, types and expressions of program text that stand where a value might: nothing is given away by them. */
const isProgramText =
  /^(?:(?:null|none|nil|undefined|true|false|string|str|number|boolean|bool|any|unknown|required|optional|redacted)[);,?!|\]}]*$|[<{$[(*%]|(?:process\.env|os\.environ|os\.getenv|self|this|config|settings|env|options|props|args|req|request|import\.meta|secrets|vars|var|local|data|module|Deno\.env)[.[(]|(?:[A-Za-z_$][\w$]*\.)*[A-Za-z_$][\w$]*\()/i

/** The working directory of a shell is no password. */
const isFolder = (name: string, value: string): boolean => name.startsWith("PWD") && value.startsWith("/")

/** Cheap first look: most lines have none of these. */
const suspicious =
  /-----BEGIN|bearer|basic|A(?:KIA|SIA|GPA|IDA|ROA|NPA|TATT|Iza)|gh[pousr]_|github_pat_|gl[a-z]+-|x(?:ox|app-)|npm_|pypi-|sk-|[sr]k_|ya29|svc_|eyJ|key|token|secret|pass|pwd|sig|:\/\//i

const registered = new Set<string>()

/** Values shorter than this are not registered: they would redact ordinary words. */
const shortestRegistered = 8
/** Lines of a value of several lines that are long enough to be told from ordinary text. */
const shortestLine = 16

/** From now on this value is found wherever it stands: as it is, URL-encoded, in base64 and in hexadecimal. */
export const registerSecret = (value: string): void => {
  if (value.length < shortestRegistered) return
  const bytes = Buffer.from(value)
  const encoded = [bytes.toString("base64"), bytes.toString("base64url")].map((text) => text.replace(/=+$/, ""))
  for (const form of [value, encodeURIComponent(value), ...encoded, bytes.toString("hex")]) registered.add(form)
  const lines = value.split(/[\r\n]+/)
  if (lines.length > 1) for (const line of lines) if (line.trim().length >= shortestLine) registered.add(line.trim())
}

/** False where nothing can be found: a look that is much cheaper than to search. */
export const mayHoldSecret = (text: string): boolean => {
  if (suspicious.test(text)) return true
  for (const value of registered) if (text.includes(value)) return true
  return false
}

export const secretsIn = (line: string): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  for (const value of registered) {
    for (let at = line.indexOf(value); at >= 0; at = line.indexOf(value, at + value.length)) {
      spans.push({ start: at, end: at + value.length })
    }
  }
  if (!suspicious.test(line)) return spans
  for (const form of forms) {
    for (const match of line.matchAll(form)) spans.push(spanOf(match, "secret"))
  }
  for (const match of line.matchAll(assignment)) {
    const { double, single, bare } = match.groups ?? {}
    const value = double ?? single ?? bare ?? ""
    if (value.length < shortest || isFolder(match[0], value)) continue
    if (bare !== undefined && isProgramText.test(bare)) continue
    spans.push(spanOf(match, double !== undefined ? "double" : single !== undefined ? "single" : "bare"))
  }
  return spans
}

const spanOf = (match: RegExpExecArray, group: string): Span => {
  const [start, end] = match.indices?.groups?.[group] ?? match.indices?.[0] ?? [0, 0]
  return { start, end }
}
