/**
 * What of a payload is stored: secrets removed, size bounded. One place, so that no event, whatever
 * made it, can carry a credential or fill the disk.
 */
import { redact } from "#core/redaction.ts"
import { storableJson } from "#core/storable.ts"

/** Bytes of JSON text that one payload may have; a longer one has its longest strings cut. */
export const maxPayloadBytes = 262_144

const cutMark = (cut: number): string => `… [${cut} characters cut]`

/** The payload as JSON text, redacted and no longer than `maxPayloadBytes`. */
export const boundedText = (payload: unknown): string => {
  const text = storableJson(payload, redactStrings)
  if (text.length * 3 <= maxPayloadBytes || Buffer.byteLength(text) <= maxPayloadBytes) return text
  for (let limit = maxPayloadBytes >> 3; limit >= 64; limit >>= 1) {
    const shorter = storableJson(payload, (key, value) => cutString(redactStrings(key, value), limit))
    if (Buffer.byteLength(shorter) <= maxPayloadBytes) return shorter
  }
  return JSON.stringify({ payload_truncated: true, bytes: Buffer.byteLength(text) })
}

const redactStrings = (_key: string, value: unknown): unknown => (typeof value === "string" ? redact(value) : value)

const cutString = (value: unknown, limit: number): unknown =>
  typeof value === "string" && value.length > limit ? value.slice(0, limit) + cutMark(value.length - limit) : value
