/**
 * Ed25519 signatures over a canonical manifest, detached in `plugin.sig`. The manifest holds the digest of the module, so one
 * signature covers both. The signature file carries the public key; whether that key is trusted is trust.ts's business.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto"
import { Result, Schema } from "effect"

/** Why `plugin.sig` cannot be believed, in words. */
export type SignatureProblem = string

const keyPrefix = "ed25519:"
const keyBytes = 32
const signatureBytes = 64
/** Bytes of a signature file. */
export const maxSignatureBytes = 4_096

/** What `plugin.sig` holds, as JSON. */
export const SignatureFile = Schema.fromJsonString(
  Schema.Struct({
    algorithm: Schema.Literal("Ed25519"),
    /** `ed25519:` and the raw key as base64url. */
    publicKey: Schema.String.check(Schema.isPattern(/^ed25519:[A-Za-z0-9_-]{43}$/)),
    signature: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{86}$/)),
  }),
)
export type SignatureFile = typeof SignatureFile.Type

/** A public key in its one spelling: `ed25519:` and 43 characters of base64url. */
export type PublicKey = string

/** For people to compare: the first 16 hexadecimal digits of the SHA-256 of the raw key. Trust compares whole keys. */
export const keyId = (key: PublicKey): string =>
  createHash("sha256")
    .update(Buffer.from(key.slice(keyPrefix.length), "base64url"))
    .digest("hex")
    .slice(0, 16)

export const isPublicKey = (text: string): boolean => {
  const raw = Buffer.from(text.slice(keyPrefix.length), "base64url")
  return text.startsWith(keyPrefix) && raw.length === keyBytes && spelled(raw) === text
}

const spelled = (raw: Uint8Array): PublicKey => `${keyPrefix}${Buffer.from(raw).toString("base64url")}`

/** A new private key in PEM (PKCS #8), with its public key. */
export const newSigningKey = (): { readonly pem: string; readonly publicKey: PublicKey } => {
  const { privateKey } = generateKeyPairSync("ed25519")
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  return { pem, publicKey: publicKeyOf(pem) }
}

/** Throws where the text is no Ed25519 private key in PEM. */
export const publicKeyOf = (pem: string): PublicKey => {
  const privateKey = privateKeyIn(pem)
  if (privateKey.asymmetricKeyType !== "ed25519") throw new Error("it is not an Ed25519 key")
  const { x } = createPublicKey(privateKey).export({ format: "jwk" })
  if (typeof x !== "string") throw new Error("it is not an Ed25519 key")
  return `${keyPrefix}${x}`
}

/** What OpenSSL says of a text that is none names no key and helps nobody. */
const privateKeyIn = (pem: string): KeyObject => {
  try {
    return createPrivateKey(pem)
  } catch {
    throw new Error("it is not a private key in PEM without a passphrase")
  }
}

/** The text of `plugin.sig`. Throws as `publicKeyOf` does. */
export const signManifest = (canonical: string, pem: string): string => {
  const file: SignatureFile = {
    algorithm: "Ed25519",
    publicKey: publicKeyOf(pem),
    signature: sign(null, Buffer.from(canonical), privateKeyIn(pem)).toString("base64url"),
  }
  return `${JSON.stringify(file, null, 2)}\n`
}

/** The key that signed it. Fails where the file is damaged or the signature is not of this manifest. */
export const signerOf = (canonical: string, file: Uint8Array): Result.Result<PublicKey, SignatureProblem> => {
  const decoded = Schema.decodeResult(SignatureFile)(Buffer.from(file).toString("utf8"))
  if (Result.isFailure(decoded)) return Result.fail("plugin.sig is not a signature file of svc")
  const { publicKey, signature } = decoded.success
  const bytes = Buffer.from(signature, "base64url")
  if (!isPublicKey(publicKey) || bytes.length !== signatureBytes) {
    return Result.fail("plugin.sig holds a key or a signature of the wrong form")
  }
  const key = createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x: publicKey.slice(keyPrefix.length) },
    format: "jwk",
  })
  return verify(null, Buffer.from(canonical), key, bytes)
    ? Result.succeed(publicKey)
    : Result.fail(`the signature of key ${keyId(publicKey)} is not of this manifest`)
}
