// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the settings file has references of this form
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, it } from "vitest"
import { version } from "#runtime/version.ts"

const program = fileURLToPath(new URL("../bin/svc.js", import.meta.url))
const root = mkdtempSync(join(tmpdir(), "svc-cli-"))
afterAll(() => rmSync(root, { recursive: true }))

let folders = 0
/** A working directory with these files. */
const directory = (files: Readonly<Record<string, string>> = {}): string => {
  const path = mkdtempSync(join(root, `${folders++}-`))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
  return path
}

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs the command in a process of its own, with this environment and no other. */
const svc = (args: string, cwd = directory(), environment: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args.split(" ").filter((arg) => arg !== "")], {
      cwd,
      env: { PATH: process.env.PATH, HOME: root, ...environment },
    })
    let [out, err] = ["", ""]
    child.stdout.on("data", (chunk) => {
      out += chunk
    })
    child.stderr.on("data", (chunk) => {
      err += chunk
    })
    child.on("error", reject)
    child.on("close", (code) => resolve({ code, out, err }))
  })

describe("svc", () => {
  it("tells its version and its use", async () => {
    expect(await svc("--version")).toEqual({ code: 0, out: `${version}\n`, err: "" })
    const help = await svc("serve --help")
    expect(help.code).toBe(0)
    expect(help.out).toContain("svc serve --local")
  })

  it.each(["", "frobnicate", "serve --frob", "config", "config print extra", "keys create --user"])(
    "exits with 2 for wrong usage: svc %s",
    async (args) => {
      const { code, out, err } = await svc(args)
      expect(code).toBe(2)
      expect(out).toBe("")
      expect(err).not.toBe("")
    },
  )

  it("exits with 2 for bad settings, whatever the command, with all problems", async () => {
    const here = directory({ "svc.yml": "Server:\n  Prot: 1\n  Host: 'a b'\n" })
    for (const args of ["serve", "config print", "migrate", "doctor", "keys create --local"]) {
      const { code, out, err } = await svc(args, here)
      expect([args, code, out]).toEqual([args, 2, ""])
      expect(err).toBe(
        "svc: The settings have 2 problems:\n" +
          "  svc.yml:2: Server:Prot: There is no such setting. Did you mean Server:Port?\n" +
          '  svc.yml:3: Server:Host: Expected a host name or an IP address, got "a b".\n',
      )
    }
  })

  it("exits with 2 where the settings file is missing, or there are two", async () => {
    const missing = await svc("config print --config nowhere.yml")
    expect(missing).toMatchObject({ code: 2, out: "" })
    expect(missing.err).toContain("nowhere.yml cannot be read")
    const two = await svc("config print", directory({ "svc.yml": "", "svc.json": "{}" }))
    expect(two.code).toBe(2)
    expect(two.err).toContain("svc.yml and svc.json")
  })
})

describe("svc config", () => {
  const file =
    'Auth:\n  Keys:\n    - Token: ${T:-canary-token}\n      User: ada\nServer:\n  Port: 7000\nTelemetry:OtlpEndpoint: "http://u:canary-word@c"\n'
  const environment = { DATABASE_URL: "postgres://u:canary-pass@h/d", SVC_API_KEY: "canary-internal" }

  it("prints each value with its source, and no secret", async () => {
    const { code, out, err } = await svc("config print --json", directory({ "svc.yml": file }), {
      ...environment,
      Server__Port: "7001",
    })
    expect({ code, err }).toEqual({ code: 0, err: "" })
    expect(out).not.toContain("canary")
    const rows: ReadonlyArray<{ name: string; value: unknown; source: string; description: string }> = JSON.parse(out)
    const row = (name: string) => rows.find((candidate) => candidate.name === name)
    expect(row("Server:Port")).toMatchObject({ value: 7_001, source: "env Server__Port" })
    expect(row("Server:Host")).toMatchObject({ value: "127.0.0.1", source: "default" })
    expect(row("Auth:Keys:0:Token")).toMatchObject({ value: "[redacted]", source: "svc.yml:3" })
    expect(row("Auth:Keys:0:User")).toMatchObject({ value: "ada", source: "svc.yml:4" })
    expect(row("Database:Url")).toMatchObject({ value: "[redacted]", source: "env DATABASE_URL" })
    expect(row("Auth:InternalKey")).toMatchObject({ value: "[redacted]", source: "env SVC_API_KEY" })
    expect(row("Auth:ApiKey")).toMatchObject({ value: null, source: "default" })
    for (const { name, description } of rows) expect([name, description]).not.toEqual([name, ""])
  })

  it("prints a table for people", async () => {
    const { code, out } = await svc("config print", directory({ "svc.yml": file }), environment)
    expect(code).toBe(0)
    expect(out).toMatch(/^Server:Port +7000 +svc\.yml:6$/m)
    expect(out).toMatch(/^Auth:ApiKey +\(not set\) +default$/m)
    expect(out).not.toContain("canary")
  })

  it("gives the JSON Schema of the file", async () => {
    const { code, out } = await svc("config schema")
    expect(code).toBe(0)
    expect(JSON.parse(out).properties.Server.properties.Port).toMatchObject({
      type: "integer",
      maximum: 65_535,
      default: 5_000,
    })
    expect(JSON.parse(out).additionalProperties).toBe(false)
  })
})

describe("svc keys create", () => {
  it("prints a key and settings that are valid as they are", async () => {
    const { code, out } = await svc("keys create --user ada")
    expect(code).toBe(0)
    const lines = out.split("\n")
    const start = lines.findIndex((line) => line.startsWith("  Auth:"))
    const yaml = lines
      .slice(start, start + 4)
      .map((line) => line.slice(2))
      .join("\n")
    const here = directory({ "svc.yml": yaml })
    expect((await svc("config print", here)).out).toMatch(/^Auth:Keys:0:User +ada +svc\.yml:4$/m)
  })

  it("refuses a user whom nobody can be", async () => {
    expect((await svc("keys create --user svc-internal")).code).toBe(2)
  })

  it("puts a new key of the local profile into the data folder without showing it", async () => {
    const here = directory()
    const first = await svc("keys create --local --data state", here)
    const path = join(here, "state", "api-key")
    const key = readFileSync(path, "utf8").trim()
    expect(first).toMatchObject({ code: 0, err: "" })
    expect(first.out).toContain(path)
    expect(first.out).not.toContain(key)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    await svc("keys create --local --data state", here)
    expect(readFileSync(path, "utf8").trim()).not.toBe(key)
  })
})

describe("svc doctor", () => {
  it("exits with 1 where something required fails, says what to do, and creates nothing", async () => {
    const here = directory()
    const taken = createServer()
    const port = await new Promise<number>((resolve) => {
      taken.listen(0, "127.0.0.1", () => {
        const address = taken.address()
        resolve(typeof address === "object" && address !== null ? address.port : 0)
      })
    })
    const { code, out } = await svc(`doctor --json --port ${port}`, here, {
      DATABASE_URL: "postgres://u:canary@127.0.0.1:1/d",
    })
    taken.close()
    expect(code).toBe(1)
    const findings: ReadonlyArray<{ name: string; status: string; advice?: string }> = JSON.parse(out)
    expect(findings.map(({ name }) => name)).toEqual([
      "node",
      "git",
      "data folder",
      "database",
      "port",
      "sandbox",
      "models",
    ])
    const failed = findings.filter(({ status }) => status === "failed")
    expect(failed.map(({ name }) => name)).toEqual(["database", "port"])
    for (const { advice } of failed) expect(advice).toBeTruthy()
    expect(out).not.toContain("canary")
    expect(() => statSync(join(here, "data"))).toThrow()
  })
})
