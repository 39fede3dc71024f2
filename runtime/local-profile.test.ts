import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { redact } from "#core/redaction.ts"
import { settingsForTests } from "#core/settings.ts"
import { apiKeyForm, newApiKey } from "#runtime/api-key.ts"
import { localKey, localKeyPath, needsLocalKey, rotateLocalKey, withLocalKey } from "#runtime/local-profile.ts"

const root = mkdtempSync(join(tmpdir(), "svc-local-"))
afterAll(() => rmSync(root, { recursive: true }))

let folders = 0
const folder = () => join(root, `data-${folders++}`)
const tokenOf = (key: { readonly Token: Redacted.Redacted<string> }) => Redacted.value(key.Token)
const run = Effect.runSync
const messageOf = (directory: string) => run(Effect.flip(localKey(directory))).message

describe("the key of the local profile", () => {
  it("is created once, for its owner only, in a folder of its owner", () => {
    const directory = folder()
    const first = run(localKey(directory))
    const second = run(localKey(directory))
    expect(first).toMatchObject({ created: true, User: "local", path: localKeyPath(directory) })
    expect(second.created).toBe(false)
    expect(tokenOf(second)).toBe(tokenOf(first))
    expect(tokenOf(first)).toMatch(apiKeyForm)
    expect(statSync(first.path).mode & 0o777).toBe(0o600)
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(readdirSync(directory)).toEqual(["api-key"])
  })

  it("never shows, not even in what is logged", () => {
    const key = run(localKey(folder()))
    expect(JSON.stringify(key)).not.toContain(tokenOf(key))
    expect(redact(`key=${tokenOf(key)}`)).not.toContain(tokenOf(key))
  })

  it("is not used when others can read it", () => {
    const directory = folder()
    const { path } = run(localKey(directory))
    chmodSync(path, 0o640)
    expect(messageOf(directory)).toContain("others can read")
  })

  it("is not used when it is a link, or holds something else", () => {
    const linked = folder()
    const { path } = run(localKey(folder()))
    run(localKey(linked))
    rmSync(localKeyPath(linked))
    symlinkSync(path, localKeyPath(linked))
    expect(messageOf(linked)).toContain("cannot be used")
    const damaged = folder()
    run(localKey(damaged))
    writeFileSync(localKeyPath(damaged), "")
    expect(messageOf(damaged)).toContain("holds no key")
  })

  it("can be rotated, also away from a damaged one", () => {
    const directory = folder()
    const first = run(localKey(directory))
    writeFileSync(first.path, "damaged")
    const next = run(rotateLocalKey(directory))
    expect(tokenOf(next)).not.toBe(tokenOf(first))
    expect(readFileSync(next.path, "utf8").trim()).toBe(tokenOf(next))
    expect(tokenOf(run(localKey(directory)))).toBe(tokenOf(next))
    expect(readdirSync(directory)).toEqual(["api-key"])
  })

  it("makes its user a platform administrator", () => {
    const key = run(localKey(folder()))
    const { Auth } = withLocalKey(settingsForTests(), key)
    expect(Auth.Keys).toEqual([{ Token: key.Token, User: "local" }])
    expect(Auth.PlatformAdministrators).toEqual(["local"])
  })

  it("is needed only where no key for people is configured", () => {
    expect(needsLocalKey(settingsForTests())).toBe(true)
    expect(needsLocalKey(settingsForTests({ Auth: { InternalKey: "pods-only" } }))).toBe(true)
    expect(needsLocalKey(settingsForTests({ Auth: { ApiKey: "k", User: "ada" } }))).toBe(false)
    expect(needsLocalKey(settingsForTests({ Auth: { Keys: [{ Token: "k", User: "ada" }] } }))).toBe(false)
  })
})

describe("a new key", () => {
  it("is svc_ and 43 characters, and never the same", () => {
    const keys = new Set(Array.from({ length: 1_000 }, newApiKey))
    expect(keys.size).toBe(1_000)
    for (const key of keys) expect(key).toMatch(/^svc_[A-Za-z0-9_-]{43}$/)
  })
})
