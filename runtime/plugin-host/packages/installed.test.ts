import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { writeArchive } from "#runtime/plugin-host/packages/archive.ts"
import { installedCandidates } from "#runtime/plugin-host/packages/candidates.ts"
import type { Home } from "#runtime/plugin-host/packages/home.ts"
import { inspectAll } from "#runtime/plugin-host/packages/inspection.ts"
import { entryNamed, grant, install, revoke, setEnabled } from "#runtime/plugin-host/packages/installed.ts"
import { readPackage } from "#runtime/plugin-host/packages/package.ts"
import { lockFilePath, pluginsFolder } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { keyId, newSigningKey, signManifest } from "#runtime/plugin-host/packages/signature.ts"
import { folderOf } from "#runtime/plugin-host/packages/store.ts"
import { revokeKey, trustKey } from "#runtime/plugin-host/packages/trust.ts"
import { sha256Of } from "#runtime/plugin-host/wasm/admission.ts"
import { compilePolicy } from "#test/fixtures/wasm/assembly-script.ts"
import { wat } from "#test/fixtures/wasm/wat.ts"
import { allowing, answering, type PackageSpec, temporaryFolder, writePackage } from "#test/support/policy-package.ts"

/** A data folder, and a place for packages beside it. */
const place = Effect.map(temporaryFolder, (folder) => {
  const home: Home = { plugins: pluginsFolder(join(folder, "data")), world: { version: "0.1.0" } }
  let made = 0
  return { home, folder, make: (spec: PackageSpec = {}) => writePackage(folder, `package-${made++}`, spec) }
})

const unsigned = { allowUnsigned: true }
const asking = (...config: ReadonlyArray<string>) => ({ svc: { permissions: { config } } })

const oneOf = (home: Home) => Effect.map(inspectAll(home), ([first]) => first)
const offOf = (home: Home) => Effect.map(installedCandidates(home), (candidates) => candidates.map(({ off }) => off))
const problemsOf = (home: Home) =>
  Effect.map(installedCandidates(home), (candidates) => candidates.map(({ problem }) => problem))

const sign = (path: string, pem: string) =>
  Effect.map(readPackage(path, { version: "0.1.0" }), ({ manifest }) =>
    writeFileSync(join(path, "plugin.sig"), signManifest(manifest.canonical, pem)),
  )

describe("installing", () => {
  it.effect("keeps a package by its digest, and says the same when asked again", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      const path = make()
      expect(yield* install(home, path, unsigned)).toMatchObject({ unchanged: false, entry: { enabled: true } })
      const lock = readFileSync(lockFilePath(home.plugins), "utf8")
      expect(yield* install(home, path, unsigned)).toMatchObject({ unchanged: true })
      expect(readFileSync(lockFilePath(home.plugins), "utf8")).toBe(lock)
      expect(yield* oneOf(home)).toMatchObject({ state: "enabled", signature: "unsigned", problem: null })
      expect(yield* problemsOf(home)).toEqual([undefined])
    }),
  )

  it.effect("takes an archive like the folder that it was packed from", () =>
    Effect.gen(function* () {
      const { home, folder, make } = yield* place
      const { files, manifest } = yield* readPackage(make(), home.world)
      const archive = join(folder, "guard.zip")
      writeFileSync(archive, yield* writeArchive(files))
      yield* install(home, archive, unsigned)
      expect((yield* entryNamed(home, "guard")).active?.manifest).toBe(manifest.digest)
    }),
  )

  it.effect("keeps nothing of an archive but what the manifest names", () =>
    Effect.gen(function* () {
      const { home, folder, make } = yield* place
      const { files, manifest } = yield* readPackage(make(), home.world)
      const archive = join(folder, "guard.zip")
      writeFileSync(archive, yield* writeArchive(new Map([...files, ["run-me.sh", Buffer.from("exit 1")]])))
      yield* install(home, archive, unsigned)
      expect(readdirSync(folderOf(home.plugins, manifest.digest)).toSorted()).toEqual(["plugin.json", "policy.wasm"])
    }),
  )

  it.effect("refuses a package without a signature, unless that is accepted", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      const refusal = yield* Effect.flip(install(home, make()))
      expect(refusal).toMatchObject({ reason: "signature", message: expect.stringContaining("--allow-unsigned") })
      expect(yield* inspectAll(home)).toEqual([])
    }),
  )

  it.effect("refuses the same manifest with one byte of the module changed, with both digests", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      const path = make()
      const changed = allowing.slice()
      changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
      writeFileSync(join(path, "policy.wasm"), changed)
      const { reason, message } = yield* Effect.flip(install(home, path, unsigned))
      expect(reason).toBe("modified")
      expect(message).toContain(sha256Of(allowing))
      expect(message).toContain(sha256Of(changed))
    }),
  )

  it.effect("refuses a module that imports what it was not granted, by its name", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      const reaching = yield* Effect.promise(() => compilePolicy("reaching", "--use", "abort=reaching/abort"))
      const spec = { wasm: reaching, svc: { hooks: { "command.run": "decide" } } }
      const { reason, message } = yield* Effect.flip(install(home, make(spec), unsigned))
      expect(reason).toBe("module")
      expect(message).toContain("extism:host/env.var_set")
    }),
  )

  it.effect("refuses a module that does not export what the manifest says", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      const wasm = wat(`(module (func (export "answer") (param i32)))`)
      const { message } = yield* Effect.flip(install(home, make({ wasm }), unsigned))
      expect(message).toContain("answer for command.run")
    }),
  )

  const beyond: ReadonlyArray<readonly [name: string, permissions: Readonly<Record<string, unknown>>]> = [
    ["net:https://api.example.com", { net: ["https://api.example.com"] }],
    ["kv", { kv: true }],
  ]
  it.effect.each(beyond)("lets a policy wait that asks for more than its question: %s", ([name, permissions]) =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      yield* install(home, make({ svc: { permissions } }), unsigned)
      expect(yield* offOf(home)).toEqual([`guard needs ${name}: svc plugin grant guard ${name}`])
      yield* grant(home, "guard", [])
      expect(yield* offOf(home)).toEqual([undefined])
    }),
  )

  it.effect("refuses a name that stands for the service", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      expect((yield* Effect.flip(install(home, make({ name: "core" }), unsigned))).message).toContain("stands for")
    }),
  )

  it.effect("refuses another content under a version that is installed", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      yield* install(home, make(), unsigned)
      const other = make({ wasm: answering('{"decision":"refuse","reason":"no"}') })
      const { reason, message } = yield* Effect.flip(install(home, other, unsigned))
      expect(reason).toBe("conflict")
      expect(message.match(/sha256:[0-9a-f]{64}/g)).toHaveLength(2)
    }),
  )

  it.live("leaves a whole lock file where many install at once", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      const names = Array.from({ length: 12 }, (_, at) => `guard-${at}`)
      const paths = names.map((name) => make({ name }))
      yield* Effect.forEach(paths, (path) => install(home, path, unsigned), { concurrency: "unbounded" })
      expect((yield* inspectAll(home)).map(({ name }) => name)).toEqual(names.toSorted())
      expect(readdirSync(home.plugins).toSorted()).toEqual(["plugins.lock.json", "store"])
    }),
  )
})

describe("signatures", () => {
  const author = newSigningKey()

  it.effect("of a trusted key are accepted, of an unknown one refused with the command that would trust it", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      const path = make()
      yield* sign(path, author.pem)
      const { message } = yield* Effect.flip(install(home, path, unsigned))
      expect(message).toContain(`svc plugin trust ${author.publicKey}`)
      yield* trustKey(home.plugins, author.publicKey, "acme")
      yield* install(home, path)
      expect(yield* oneOf(home)).toMatchObject({ state: "enabled", signature: "signed" })
      expect((yield* entryNamed(home, "guard")).active?.signer).toBe(keyId(author.publicKey))
    }),
  )

  it.effect("of a key that is revoked stop what it signed, and its guard stays closed", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      const path = make()
      yield* sign(path, author.pem)
      yield* trustKey(home.plugins, author.publicKey, "acme")
      yield* install(home, path)
      yield* revokeKey(home.plugins, keyId(author.publicKey))
      expect(yield* oneOf(home)).toMatchObject({ state: "refused", signature: "revoked" })
      const [candidate] = yield* installedCandidates(home)
      expect(candidate).toMatchObject({
        problem: expect.stringContaining("revoked"),
        plugin: { hooks: ["command.run"] },
      })
      expect((yield* Effect.flip(install(home, path))).message).toContain("revoked")
    }),
  )

  type Tamper = (folder: string) => void
  const tampering: ReadonlyArray<readonly [what: string, state: string, tamper: Tamper]> = [
    ["the module", "modified", (folder) => writeFileSync(join(folder, "policy.wasm"), answering("null"))],
    ["the signature", "invalid", (folder) => writeFileSync(join(folder, "plugin.sig"), "{}")],
    ["the signature away", "modified", (folder) => rmSync(join(folder, "plugin.sig"))],
    ["all of it away", "invalid", (folder) => rmSync(folder, { recursive: true })],
    [
      "the manifest",
      "modified",
      (folder) => {
        const path = join(folder, "plugin.json")
        writeFileSync(path, readFileSync(path, "utf8").replace('"*"', '">=0"'))
      },
    ],
  ]
  it.effect.each(tampering)("are looked at again before anything runs: change %s", ([, state, tamper]) =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      const path = make()
      yield* sign(path, author.pem)
      yield* trustKey(home.plugins, author.publicKey, "acme")
      const { entry } = yield* install(home, path)
      tamper(folderOf(home.plugins, entry.active?.manifest ?? ""))
      expect(yield* oneOf(home)).toMatchObject({ state: "refused", signature: state })
      const [candidate] = yield* installedCandidates(home)
      expect(candidate?.problem).toBeDefined()
      expect(candidate?.plugin.hooks).toEqual(["command.run"])
      yield* install(home, path)
      expect(yield* oneOf(home)).toMatchObject({ state: "enabled", signature: "signed" })
    }),
  )

  it.effect("cannot be judged with a trust store that is damaged: nothing goes on", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      yield* install(home, make(), unsigned)
      writeFileSync(join(home.plugins, "trusted-keys.json"), "{")
      expect((yield* Effect.flip(install(home, make({ name: "other" }), unsigned))).reason).toBe("state")
      expect((yield* installedCandidates(home))[0]?.problem).toContain("trusted-keys.json")
    }),
  )

  it.effect("do not help a lock file that is damaged: the service must not start without its guards", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      yield* install(home, make(), unsigned)
      writeFileSync(lockFilePath(home.plugins), '{"version":1,"plugins":{"guard":{}}}')
      expect((yield* Effect.flip(installedCandidates(home))).message).toContain("plugins.lock.json")
    }),
  )
})

describe("permissions", () => {
  it.effect("that were never granted keep a first version from running, until they are", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      yield* install(home, make(asking("threshold")), unsigned)
      expect(yield* oneOf(home)).toMatchObject({
        state: "needs_grant",
        pending: { version: "1.0.0", permissions: { missing: ["config:threshold"] } },
        problem: expect.stringContaining("svc plugin grant guard config:threshold"),
      })
      expect(yield* offOf(home)).toEqual([expect.stringContaining("svc plugin grant guard config:threshold")])
      yield* grant(home, "guard", [])
      expect(yield* oneOf(home)).toMatchObject({ state: "enabled", pending: null, grants: ["config:threshold"] })
    }),
  )

  it.effect("that an upgrade adds leave the old version running until they are granted", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      yield* install(home, make({ ...asking("a"), version: "1.0.0" }), { ...unsigned, grant: "all" })
      yield* install(home, make({ ...asking("a", "b"), version: "1.1.0" }), unsigned)
      expect(yield* oneOf(home)).toMatchObject({
        version: "1.0.0",
        state: "needs_grant",
        pending: { version: "1.1.0", permissions: { missing: ["config:b"], granted: ["config:a"], unused: [] } },
      })
      const [running] = yield* installedCandidates(home)
      expect(running).toMatchObject({ plugin: { version: "1.0.0" } })
      expect(running?.problem).toBeUndefined()
      yield* grant(home, "guard", ["config:b"])
      expect(yield* oneOf(home)).toMatchObject({ version: "1.1.0", state: "enabled", grants: ["config:a", "config:b"] })
    }),
  )

  it.effect("that an upgrade gives up are dropped, and have to be granted again", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      yield* install(home, make({ ...asking("a"), version: "1.0.0" }), { ...unsigned, grant: "all" })
      yield* install(home, make({ version: "1.1.0" }), unsigned)
      expect(yield* oneOf(home)).toMatchObject({ version: "1.1.0", state: "enabled", grants: [] })
      yield* install(home, make({ ...asking("a"), version: "1.2.0" }), unsigned)
      expect(yield* oneOf(home)).toMatchObject({ version: "1.1.0", state: "needs_grant" })
    }),
  )

  it.effect("that are revoked stop the plugin, and its guard stays closed", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      yield* install(home, make(asking("a")), { ...unsigned, grant: "all" })
      yield* revoke(home, "guard", [])
      expect(yield* oneOf(home)).toMatchObject({ state: "needs_grant", grants: [] })
      const [candidate] = yield* installedCandidates(home)
      expect(candidate).toMatchObject({
        problem: expect.stringContaining("config:a"),
        plugin: { hooks: ["command.run"] },
      })
    }),
  )

  it.effect("that it does not ask for, or does not have, are refused with those that it does", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      yield* install(home, make(asking("a")), unsigned)
      expect((yield* Effect.flip(grant(home, "guard", ["kv"]))).message).toContain("It asks for: config:a")
      expect((yield* Effect.flip(revoke(home, "guard", ["config:a"]))).message).toContain("It has: nothing")
      expect((yield* Effect.flip(grant(home, "nobody", []))).reason).toBe("unknown")
    }),
  )
})

describe("switching", () => {
  it.effect("a plugin off takes it out, also where an upgrade comes meanwhile", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      yield* install(home, make(), unsigned)
      yield* setEnabled(home, "guard", false)
      yield* install(home, make({ version: "1.1.0" }), unsigned)
      expect(yield* oneOf(home)).toMatchObject({ version: "1.1.0", state: "disabled" })
      expect(yield* offOf(home)).toEqual(["It is switched off: svc plugin enable guard"])
      yield* setEnabled(home, "guard", true)
      expect(yield* problemsOf(home)).toEqual([undefined])
    }),
  )

  it.effect("does not fit a package folder that was copied from elsewhere", () =>
    Effect.gen(function* () {
      const { home, make } = yield* place
      const first = yield* install(home, make(), unsigned)
      const second = yield* install(home, make({ name: "other" }), unsigned)
      const [from, to] = [first, second].map(({ entry }) => folderOf(home.plugins, entry.active?.manifest ?? ""))
      cpSync(from ?? "", to ?? "", { recursive: true })
      const states = (yield* inspectAll(home)).map(({ name, signature }) => [name, signature])
      expect(states).toEqual([
        ["guard", "unsigned"],
        ["other", "modified"],
      ])
    }),
  )
})
