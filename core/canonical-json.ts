/**
 * JSON with one spelling for each value: no spaces, members sorted by their UTF-16 code units (as RFC 8785
 * sorts them), numbers and strings as `JSON.stringify` writes them. What is hashed, signed or compared
 * byte for byte goes through here.
 */
import { createHash } from "node:crypto"

/** Takes plain JSON values; members that are undefined are left out. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map((entry) => canonicalJson(entry ?? null)).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(",")}}`
}

/** `sha256:` and the digest of a text, in hexadecimal. */
export const sha256 = (text: string | Uint8Array): string => `sha256:${createHash("sha256").update(text).digest("hex")}`
