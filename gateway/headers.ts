/** The headers that every answer carries, and the id that a request is known by. */

export type HeaderRecord = Record<string, string>

export const json = "application/json; charset=utf-8"

/** For answers that are data: not kept, not guessed at, not framed, not a page. */
export const securityHeaders: Readonly<HeaderRecord> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
}

const requestIdForm = /^[A-Za-z0-9._-]{1,128}$/

/** The id that the client sent, where it is a plain one; otherwise a new one. */
export const requestIdOf = (headers: Headers): string => {
  const sent = headers.get("x-request-id")
  return sent !== null && requestIdForm.test(sent) ? sent : crypto.randomUUID()
}
