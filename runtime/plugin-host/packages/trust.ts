/**
 * Whose signatures count: `trusted-keys.json` in the plugins folder. A key that is revoked stays listed, so that what it signed
 * stops running; one that was never trusted is as good as no signature.
 */
import { DateTime, Effect, Result, Schema } from "effect"
import { changing, readText, replaceFile, trustFilePath } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { type PackageRefused, refuse } from "#runtime/plugin-host/packages/refused.ts"
import { isPublicKey, keyId, type PublicKey, signerOf } from "#runtime/plugin-host/packages/signature.ts"

const TrustedKey = Schema.Struct({
  key: Schema.String.check(Schema.makeFilter((key: string) => isPublicKey(key) || "Expected ed25519: and a key")),
  name: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)),
  trusted_at: Schema.String,
  revoked_at: Schema.optionalKey(Schema.String),
})
export type TrustedKey = typeof TrustedKey.Type

const TrustFile = Schema.fromJsonString(Schema.Struct({ version: Schema.Literal(1), keys: Schema.Array(TrustedKey) }))

export type TrustStore = ReadonlyArray<TrustedKey>

/**
 * - `core`: comes with the service.
 * - `signed`: by a key that is trusted.
 * - `unsigned`: there is no signature.
 * - `modified`: the module or the manifest is not the one that was installed, or that the manifest names.
 * - `invalid`: the signature is damaged, of another manifest, or of a key that is not trusted.
 * - `revoked`: by a key that was trusted once.
 */
export const signatureStates = ["core", "signed", "unsigned", "modified", "invalid", "revoked"] as const
export type SignatureState = (typeof signatureStates)[number]

export interface Verdict {
  readonly state: SignatureState
  /** Of the key that signed it, where one did. */
  readonly keyId: string | null
  /** For people: who signed it, or what is wrong and which command would trust it. */
  readonly detail: string
}

export const readTrust = (plugins: string): Effect.Effect<TrustStore, PackageRefused> =>
  Effect.gen(function* () {
    const path = trustFilePath(plugins)
    const text = yield* readText(path)
    if (text === undefined) return []
    return yield* Schema.decodeEffect(TrustFile)(text).pipe(
      Effect.map(({ keys }) => keys),
      // without it no signature can be judged, so nothing goes on
      Effect.mapError(({ message }) => refuse("state", `${path} cannot be understood: ${message}.`)),
    )
  })

const writeTrust = (plugins: string, keys: TrustStore) =>
  replaceFile(trustFilePath(plugins), `${JSON.stringify({ version: 1, keys }, null, 2)}\n`)

/** From now on signatures of this key count; also where it was revoked before. */
export const trustKey = (plugins: string, key: PublicKey, name: string): Effect.Effect<void, PackageRefused> =>
  changing(plugins)(addKey(plugins, key, name))

/** By key or key id. What it signed does not run any more. */
export const revokeKey = (plugins: string, which: string): Effect.Effect<void, PackageRefused> =>
  changing(plugins)(markRevoked(plugins, which))

const addKey = Effect.fnUntraced(function* (plugins: string, key: PublicKey, name: string) {
  if (!isPublicKey(key))
    return yield* refuse("unknown", `${key} is no public key: expected ed25519: and 43 characters.`)
  const keys = yield* readTrust(plugins)
  const trusted_at = DateTime.formatIso(yield* DateTime.now)
  yield* writeTrust(plugins, [...keys.filter((known) => known.key !== key), { key, name, trusted_at }])
})

const markRevoked = Effect.fnUntraced(function* (plugins: string, which: string) {
  const keys = yield* readTrust(plugins)
  const revoked_at = DateTime.formatIso(yield* DateTime.now)
  const matches = (known: TrustedKey) => known.key === which || keyId(known.key) === which
  if (!keys.some(matches)) return yield* refuse("unknown", `No key ${which} was ever trusted here.`)
  yield* writeTrust(
    plugins,
    keys.map((known) => (matches(known) ? { ...known, revoked_at } : known)),
  )
})

/** What the signature of a manifest is worth here. */
export const judge = (
  manifest: { readonly canonical: string; readonly digest: string },
  signature: Uint8Array | undefined,
  trust: TrustStore,
): Verdict => {
  if (signature === undefined) return { state: "unsigned", keyId: null, detail: "It is not signed." }
  const signer = signerOf(manifest.canonical, signature)
  if (Result.isFailure(signer)) {
    return { state: "invalid", keyId: null, detail: `${signer.failure} (manifest ${manifest.digest}).` }
  }
  const id = keyId(signer.success)
  const known = trust.find(({ key }) => key === signer.success)
  if (known === undefined) {
    const detail =
      `Key ${id} signed the manifest ${manifest.digest}, and is not trusted here. ` +
      `Where its owner confirms the key id: svc plugin trust ${signer.success} --name <owner>`
    return { state: "invalid", keyId: id, detail }
  }
  if (known.revoked_at !== undefined) {
    const detail = `Key ${id} (${known.name}), which signed the manifest ${manifest.digest}, was revoked at ${known.revoked_at}.`
    return { state: "revoked", keyId: id, detail }
  }
  return { state: "signed", keyId: id, detail: `Signed by ${known.name}, key ${id}.` }
}
