/**
 * Finds credentials in text and takes them out, by their form and by registered value. Used for
 * events, logs, errors and the output of commands. It cannot know every secret: what the service
 * itself holds is registered, so that at least that never leaves.
 */

const mark = "[redacted]"

/** Credential forms: bearer tokens, cloud and code-host keys, PEM private keys, `password=…`. */
const forms: ReadonlyArray<readonly [RegExp, string]> = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, mark],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/-]{8,}=*/gi, `$1 ${mark}`],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, mark],
  [/\bgh[pousr]_[A-Za-z0-9]{20,}\b/g, mark],
  [/\bgithub_pat_[A-Za-z0-9_]{20,}\b/g, mark],
  [/\bglpat-[A-Za-z0-9_-]{16,}/g, mark],
  [/\bxox[abprs]-[A-Za-z0-9-]{10,}/g, mark],
  [/\bsk-[A-Za-z0-9_-]{20,}/g, mark],
  [/\bsvc_[A-Za-z0-9_-]{32,}/g, mark],
  [/\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*/g, mark],
  [
    /\b((?:[a-z0-9_-]*(?:api|secret|access)[_-]?(?:key|token)|password|passwd|pwd|sig)["']?\s*[:=]\s*["']?)[^\s"'&,;]{4,}/gi,
    `$1${mark}`,
  ],
  [/(:\/\/[^\s/:@]+:)[^\s/@]{3,}@/g, `$1${mark}@`],
]

/** Cheap first look: most texts have none of these and are returned as they are. */
const suspicious =
  /-----BEGIN|bearer|basic |AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|xox|sk-|svc_|eyJ|key|token|password|passwd|pwd|sig|:\/\//i

const registered = new Set<string>()

/** Values shorter than this are not registered: they would redact ordinary words. */
const shortestSecret = 8

/** From now on this value, and its URL-encoded form, is redacted wherever it appears. */
export const registerSecret = (value: string): void => {
  if (value.length < shortestSecret) return
  registered.add(value)
  registered.add(encodeURIComponent(value))
}

export const redact = (text: string): string => {
  let clean = text
  for (const secret of registered) if (clean.includes(secret)) clean = clean.replaceAll(secret, mark)
  if (!suspicious.test(clean)) return clean
  for (const [form, replacement] of forms) clean = clean.replace(form, replacement)
  return clean
}
