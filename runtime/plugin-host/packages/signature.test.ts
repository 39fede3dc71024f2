import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import {
  isPublicKey,
  keyId,
  newSigningKey,
  publicKeyOf,
  signerOf,
  signManifest,
} from "#runtime/plugin-host/packages/signature.ts"
import { judge } from "#runtime/plugin-host/packages/trust.ts"

const author = newSigningKey()
const stranger = newSigningKey()
const manifest = { canonical: '{"name":"guard"}', digest: "sha256:abc" }
const bytes = (text: string) => new TextEncoder().encode(text)
const signature = bytes(signManifest(manifest.canonical, author.pem))
const trusted = { key: author.publicKey, name: "acme", trusted_at: "2026-01-01T00:00:00Z" }

describe("a signature", () => {
  it("tells who signed", () => {
    expect(signerOf(manifest.canonical, signature)).toEqual(Result.succeed(author.publicKey))
    expect(publicKeyOf(author.pem)).toBe(author.publicKey)
    expect(isPublicKey(author.publicKey)).toBe(true)
  })

  it("is worth nothing when any byte of the manifest or of itself is another", () => {
    for (let at = 0; at < manifest.canonical.length; at++) {
      const changed = bytes(manifest.canonical)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(Result.isFailure(signerOf(new TextDecoder().decode(changed), signature))).toBe(true)
    }
    const text = new TextDecoder().decode(signature)
    const value = JSON.parse(text).signature
    for (let at = 0; at < value.length - 1; at++) {
      const other = `${value.slice(0, at)}${value[at] === "A" ? "B" : "A"}${value.slice(at + 1)}`
      expect(Result.isFailure(signerOf(manifest.canonical, bytes(text.replace(value, other))))).toBe(true)
    }
  })

  const damaged = ["", "null", "{}", "not json", '{"algorithm":"none"}', "[".repeat(1_000)]
  it.each(damaged)("that is damaged (%j) is no signature", (text) => {
    expect(judge(manifest, bytes(text), [trusted])).toMatchObject({ state: "invalid", keyId: null })
  })

  it("under another key's name is no signature", () => {
    const text = new TextDecoder().decode(signature).replace(author.publicKey, stranger.publicKey)
    expect(judge(manifest, bytes(text), [trusted, { ...trusted, key: stranger.publicKey }]).state).toBe("invalid")
  })
})

describe("a package is", () => {
  it("signed by a key that is trusted", () => {
    const verdict = judge(manifest, signature, [trusted])
    expect(verdict).toEqual({
      state: "signed",
      keyId: keyId(author.publicKey),
      detail: `Signed by acme, key ${keyId(author.publicKey)}.`,
    })
  })

  it("unsigned without a signature", () => {
    expect(judge(manifest, undefined, [trusted]).state).toBe("unsigned")
  })

  it("invalid by a key that is not trusted: the key id, the digest and the command are told", () => {
    const { state, detail } = judge(manifest, signature, [{ ...trusted, key: stranger.publicKey }])
    expect(state).toBe("invalid")
    expect(detail).toContain(keyId(author.publicKey))
    expect(detail).toContain(manifest.digest)
    expect(detail).toContain(`svc plugin trust ${author.publicKey}`)
  })

  it("revoked by a key that was trusted once", () => {
    expect(judge(manifest, signature, [{ ...trusted, revoked_at: "2026-02-01T00:00:00Z" }]).state).toBe("revoked")
  })
})
