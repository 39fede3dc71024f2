import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { pluginCommand } from "#runtime/cli/plugin/command.ts"
import { sha256Of } from "#runtime/plugin-host/wasm/admission.ts"
import { plugin } from "#test/support/plugin-command.ts"
import { allowing, answering, manifestFor, type PackageSpec, writePackage } from "#test/support/policy-package.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-plugin-command-"))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const path = (name: string) => join(folder, name)
const pack = (name: string, spec: PackageSpec = {}) => writePackage(folder, name, spec)

const here = (...args: ReadonlyArray<string>) => plugin(...args, "--data", path("data"))
const json = async (...args: ReadonlyArray<string>) => {
  const ended = await here(...args, "--json")
  return { exit: ended.exit, value: JSON.parse(ended.out) }
}

describe("svc plugin", () => {
  it("has help with examples for every command", async () => {
    const { commands } = pluginCommand()
    const names =
      "disable doctor enable grant inspect install list pack revoke schema sign trust uninstall validate verify".split(
        " ",
      )
    expect(commands.map((command) => command.name())).toEqual(expect.arrayContaining(names))
    for (const command of commands) {
      const { exit, out } = await plugin(command.name(), "--help")
      expect(exit).toBe(0)
      expect(out).toContain("Examples:")
    }
  })

  it.each([["nothing-like-it"], ["install"], ["sign", "."], ["list", "--colour"]])(
    "ends with 2 for %s",
    async (...args) => {
      expect((await here(...args)).exit).toBe(2)
    },
  )

  it("goes from a folder to a signed plugin that is installed, inspected, switched and revoked", async () => {
    const source = pack("guard", { svc: { permissions: { config: ["most"] } } })
    expect((await here("validate", source)).exit).toBe(0)

    const signed = await json("sign", source, "--key", path("key.pem"), "--create")
    expect(signed.exit).toBe(0)
    const archive = path("guard.zip")
    expect((await here("pack", source, "--output", archive)).exit).toBe(0)
    expect(existsSync(archive)).toBe(true)

    const untrusted = await here("install", archive)
    expect(untrusted).toMatchObject({
      exit: 1,
      err: expect.stringContaining(`svc plugin trust ${signed.value.public_key}`),
    })
    expect((await here("verify", archive)).exit).toBe(1)
    expect((await here("trust", signed.value.public_key, "--name", "acme")).exit).toBe(0)
    expect(await here("verify", archive)).toMatchObject({ exit: 0, out: expect.stringContaining("Signed by acme") })

    expect((await json("install", archive)).value).toMatchObject({ state: "needs_grant", missing: ["config:most"] })
    expect((await json("grant", "guard", "config:most")).value).toMatchObject({
      active: "1.0.0",
      grants: ["config:most"],
    })
    expect((await json("list")).value).toMatchObject([{ name: "guard", state: "enabled", signature: "signed" }])
    expect((await here("list")).out).toMatch(/guard +1\.0\.0 +enabled +enforce +signed +command\.run/)
    expect((await here("doctor")).exit).toBe(0)

    expect((await json("disable", "guard")).value).toEqual({ name: "guard", enabled: false })
    expect((await json("inspect", "guard")).value).toMatchObject({ state: "disabled", problem: null })
    expect((await here("enable", "guard")).exit).toBe(0)
    expect((await json("revoke", "guard")).value).toMatchObject({ grants: [] })
    expect((await here("inspect", "guard")).out).toContain("svc plugin grant guard config:most")

    expect((await here("trust", signed.value.key_id, "--revoke")).exit).toBe(0)
    expect(await here("doctor")).toMatchObject({ exit: 1, out: expect.stringContaining("was revoked at") })

    expect((await json("uninstall", "guard")).value).toEqual({ name: "guard", version: "1.0.0", uninstalled: true })
    expect((await json("list")).value).toEqual([])
    expect(readdirSync(path("data/plugins/store"))).toEqual([])
    expect((await here("uninstall", "guard")).exit).toBe(1)
  })

  it("keeps to what the settings let a policy have", async () => {
    writeFileSync(
      path("svc.json"),
      JSON.stringify({
        Plugins: { Grantable: ["config:a"], Ceiling: { Fuel: 20_000_000, WallClockMilliseconds: 3_000 } },
      }),
    )
    const held = (...args: ReadonlyArray<string>) => here(...args, "--config", path("svc.json"))
    const asks = pack("asks", { svc: { permissions: { config: ["a", "b"] } } })
    expect((await held("install", asks, "--allow-unsigned", "--grant", "all")).err).toMatch(
      /guard cannot be granted config:b: Plugins:Grantable/,
    )
    expect((await held("install", asks, "--allow-unsigned", "--grant", "config:a")).exit).toBe(0)
    expect((await held("grant", "guard", "config:b")).exit).toBe(1)
    // granted before the operator thought otherwise: it does not count
    expect((await here("grant", "guard")).exit).toBe(0)
    expect(await held("doctor")).toMatchObject({ exit: 0, out: expect.stringContaining("Plugins:Grantable") })
    expect((await held("inspect", "guard")).out).toMatch(/granted +config:a\n/)

    const greedy = pack("greedy", { name: "greedy", svc: { limits: { fuel: 30_000_000 } } })
    expect((await held("install", greedy, "--allow-unsigned")).err).toMatch(
      /limits\.fuel: Expected at most 20000000, which is this service's ceiling/,
    )
    expect((await here("install", greedy, "--allow-unsigned")).exit).toBe(0)
    expect(await held("doctor")).toMatchObject({ exit: 1, out: expect.stringContaining("this service's ceiling") })
  })

  it("shows which policies are only watched", async () => {
    await here("install", pack("watched", { svc: { mode: "shadow" } }), "--allow-unsigned")
    expect((await here("list")).out).toMatch(/guard +1\.0\.0 +enabled +shadow +unsigned +command\.run/)
  })

  it("shows what an upgrade asks for beyond the version that stays", async () => {
    await here(
      "install",
      pack("one", { svc: { permissions: { config: ["a"] } } }),
      "--allow-unsigned",
      "--grant",
      "all",
    )
    const upgrade = pack("two", { version: "1.1.0", svc: { permissions: { config: ["a", "b"] } } })
    const { exit, out } = await here("install", upgrade, "--allow-unsigned")
    expect(exit).toBe(0)
    expect(out).toContain("+ config:b")
    expect(out).toContain("Version 1.0.0 stays.")
    expect((await here("inspect", "guard")).out).toMatch(/waiting +1\.1\.0/)
  })

  it("says where another version is older, or of other hands", async () => {
    const source = pack("signed", { version: "2.0.0" })
    const { value } = await json("sign", source, "--key", path("key.pem"), "--create")
    await here("trust", value.public_key)
    expect((await here("install", source)).out).not.toMatch(/older|signed by key/)
    expect((await here("install", source)).out).not.toMatch(/older|signed by key/)
    const { exit, out } = await here("install", pack("older", { version: "1.0.0" }), "--allow-unsigned")
    expect(exit).toBe(0)
    expect(out).toContain("It is older than 2.0.0")
    expect(out).toContain(`It is not signed; version 2.0.0 was signed by key ${value.key_id}.`)
    const other = pack("other", { version: "2.1.0" })
    const by = await json("sign", other, "--key", path("other.pem"), "--create")
    await here("trust", by.value.public_key)
    await here("install", source)
    expect((await here("install", other)).out).toContain(
      `It is signed by key ${by.value.key_id}; version 2.0.0 was signed by key ${value.key_id}.`,
    )
  })

  it("says where nothing asks a policy", async () => {
    const idle = pack("idle", { svc: { hooks: { "edge.request": "answer" } } })
    expect((await here("validate", idle)).out).toContain("does not ask edge.request yet")
    expect((await here("install", idle, "--allow-unsigned")).out).toContain("does not ask edge.request yet")
    expect(await here("doctor")).toMatchObject({
      exit: 0,
      out: expect.stringContaining("does not ask edge.request yet"),
    })
    expect((await here("validate", pack("guard"))).out).not.toContain("yet")
  })

  it("says which file is not what it was taken for", async () => {
    writeFileSync(path("notes.txt"), "not a key, not a package")
    expect((await here("install", path("notes.txt"))).err).toMatch(/notes\.txt: It is not a ZIP/)
    const source = pack("guard")
    expect((await here("sign", source, "--key", path("notes.txt"))).err).toMatch(
      /notes\.txt: it is not a private key in PEM/,
    )
  })

  it("tells every problem of a manifest, as text and as JSON", async () => {
    const broken = pack("broken", { version: "1", svc: { abi: 7 } })
    const { exit, value } = await json("validate", broken)
    expect(exit).toBe(1)
    expect(value.problems.map((problem: { path: string }) => problem.path)).toEqual(["version", "extensions.svc.abi"])
    expect((await here("validate", broken)).out).toMatch(/version: .*\n.*extensions\.svc\.abi: /)
    expect((await here("validate", path("absent"))).exit).toBe(1)
  })

  it("writes the digest of a module that was built anew, and packs the same bytes again", async () => {
    const source = pack("guard")
    const rebuilt = answering("null")
    writeFileSync(join(source, "policy.wasm"), rebuilt)
    const refused = await here("pack", source, "--output", path("a.zip"))
    expect(refused).toMatchObject({ exit: 1, err: expect.stringContaining(sha256Of(rebuilt)) })
    expect(refused.err).toContain(sha256Of(allowing))
    expect((await here("pack", source, "--output", path("a.zip"), "--write-digest")).exit).toBe(0)
    expect((await here("pack", source, "--output", path("b.zip"))).exit).toBe(0)
    expect(readFileSync(path("a.zip")).equals(readFileSync(path("b.zip")))).toBe(true)
  })

  it("never writes a new key over another", async () => {
    const source = pack("guard")
    writeFileSync(path("key.pem"), "mine")
    expect((await here("sign", source, "--key", path("key.pem"), "--create")).exit).toBe(1)
    expect(readFileSync(path("key.pem"), "utf8")).toBe("mine")
  })

  it("prints the schemas of questions and of the manifest", async () => {
    expect((await plugin("schema")).out).toContain("steering.decide")
    expect(JSON.parse((await plugin("schema", "command.run")).out)).toMatchObject({ kind: "guard", answer: {} })
    expect(JSON.parse((await plugin("schema", "manifest")).out)).toMatchObject({
      title: "plugin.json of a policy for svc",
    })
    expect((await plugin("schema", "nothing")).exit).toBe(1)
  })

  it("writes a manifest that its own schema names in full", async () => {
    const schema = JSON.parse((await plugin("schema", "manifest")).out)
    const known = Object.keys(schema.properties.extensions.properties.svc.properties)
    for (const member of Object.keys(manifestFor().extensions.svc)) expect(known).toContain(member)
  })
})
