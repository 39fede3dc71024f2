/**
 * Seals secrets for the database with AES-256-GCM. A sealed text names the key that opens it, and is bound to
 * what it belongs to, so that it cannot be moved to another row.
 *
 * `svc1.<id of the key>.<nonce, text and tag in base64url>`
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"
import { Data } from "effect"

const version = "svc1"
/** Bytes. */
const keyLength = 32
const nonceLength = 12
const tagLength = 16

/** The text was sealed by another key, for something else, or was changed. */
export class CannotUnseal extends Data.TaggedError("CannotUnseal")<{ readonly message: string }> {}

export interface Sealing {
  readonly seal: (text: string, belongsTo: string) => string
  /** Throws `CannotUnseal`. */
  readonly unseal: (sealed: string, belongsTo: string) => string
  /** Sealed by the key that seals now? */
  readonly isCurrent: (sealed: string) => boolean
}

/** The first key seals, all of them open. Keys are 32 bytes. */
export const makeSealing = (current: Uint8Array, old: ReadonlyArray<Uint8Array> = []): Sealing => {
  const keys = new Map([...old, current].map((key) => [idOf(key), key]))
  const currentId = idOf(current)
  return {
    seal: (text, belongsTo) => {
      const nonce = randomBytes(nonceLength)
      const cipher = createCipheriv("aes-256-gcm", current, nonce).setAAD(Buffer.from(belongsTo))
      const body = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()])
      return `${version}.${currentId}.${body.toString("base64url")}`
    },
    unseal: (sealed, belongsTo) => {
      const [form, keyId = "", encoded = ""] = sealed.split(".")
      const key = keys.get(keyId)
      if (form !== version || key === undefined) {
        throw new CannotUnseal({ message: "The key that sealed this is not known any more" })
      }
      const body = Buffer.from(encoded, "base64url")
      try {
        if (body.length < nonceLength + tagLength) throw new Error("too short")
        const decipher = createDecipheriv("aes-256-gcm", key, body.subarray(0, nonceLength), {
          authTagLength: tagLength,
        })
        decipher.setAAD(Buffer.from(belongsTo)).setAuthTag(body.subarray(-tagLength))
        return decipher.update(body.subarray(nonceLength, -tagLength), undefined, "utf8") + decipher.final("utf8")
      } catch {
        throw new CannotUnseal({ message: "What was sealed was changed, or belongs to something else" })
      }
    },
    isCurrent: (sealed) => sealed.startsWith(`${version}.${currentId}.`),
  }
}

/** Says which key it is, and nothing about it. */
const idOf = (key: Uint8Array): string => {
  if (key.length !== keyLength) throw new Error("a sealing key has 32 bytes")
  return createHash("sha256").update("svc sealing key").update(key).digest("hex").slice(0, 16)
}
