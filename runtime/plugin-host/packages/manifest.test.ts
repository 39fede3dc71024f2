import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { canonicalJson } from "#core/canonical-json.ts"
import { defaultBudget } from "#runtime/plugin-host/packages/budget.ts"
import { readManifest } from "#runtime/plugin-host/packages/manifest.ts"
import { manifestJsonSchema } from "#runtime/plugin-host/packages/manifest-schema.ts"
import { manifestFor, type PackageSpec } from "#test/support/policy-package.ts"

const world = { version: "1.4.0" }

const readText = (text: string | Uint8Array) =>
  readManifest(typeof text === "string" ? new TextEncoder().encode(text) : text, world)
const read = (spec: PackageSpec = {}) => readText(JSON.stringify(manifestFor(spec)))

const problemsOf = (result: ReturnType<typeof readManifest>): ReadonlyArray<string> =>
  Result.isFailure(result) ? result.failure.map(({ path, message }) => `${path}: ${message}`) : []

describe("a manifest", () => {
  it("that says little has the defaults", () => {
    const manifest = Result.getOrThrow(read({ svc: { limits: {} } }))
    expect(manifest).toMatchObject({
      name: "guard",
      version: "1.0.0",
      priority: 100,
      mode: "enforce",
      failure: "closed",
      permissions: { net: [], config: [], kv: false },
      limits: defaultBudget,
    })
  })

  it("may say what other hosts understand, and signs it too", () => {
    const [plain, more] = [read(), read({ root: { author: { name: "Ada" }, skills: "./skills" } })]
    expect(Result.isSuccess(more)).toBe(true)
    expect(Result.getOrThrow(more).digest).not.toBe(Result.getOrThrow(plain).digest)
  })

  it("has one digest however it is laid out", () => {
    const manifest = manifestFor()
    const reversed = Object.fromEntries(Object.entries(manifest).toReversed())
    expect(Result.getOrThrow(readText(JSON.stringify(reversed, null, 4))).digest).toBe(Result.getOrThrow(read()).digest)
  })

  it("tells every problem at once, with its path", () => {
    const problems = problemsOf(
      read({
        version: "one",
        svc: {
          kind: "native",
          entry: "../up.wasm",
          sha256: "AB",
          permissions: { nett: [], kv: "yes" },
          limits: { fuel: 1 },
        },
      }),
    )
    const paths = problems.map((problem) => problem.slice(0, problem.indexOf(":")))
    expect(paths).toEqual([
      "version",
      "extensions.svc.kind",
      "extensions.svc.entry",
      "extensions.svc.sha256",
      "extensions.svc.permissions.nett",
      "extensions.svc.permissions.kv",
      "extensions.svc.limits.fuel",
    ])
  })

  const names: ReadonlyArray<readonly [name: string, valid: boolean]> = [
    ["a", true],
    ["spend-cap", true],
    ["a".repeat(40), true],
    ["a".repeat(41), false],
    ["a".repeat(65), false],
    ["", false],
    ["-a", false],
    ["a-", false],
    ["a--b", false],
    ["a..b", false],
    ["acme.guard", false],
    ["Guard", false],
    ["a_b", false],
    ["a/b", false],
    ["..", false],
    ["a\u0000", false],
    ["gu\u0430rd", false],
  ]
  it.each(names)("may be called %j: %s", (name, valid) => {
    expect(Result.isSuccess(read({ name }))).toBe(valid)
  })

  const refused: ReadonlyArray<readonly [what: string, svc: Readonly<Record<string, unknown>>, problem: RegExp]> = [
    [
      "an engine that this service is not",
      { engine: "^2" },
      /svc\.engine: guard is made for svc \^2, and this is svc 1\.4\.0/,
    ],
    ["an engine that is no range", { engine: "newest" }, /svc\.engine: Expected a range/],
    ["another interface", { abi: 2 }, /svc\.abi/],
    [
      "an unknown question",
      { hooks: { "steering.decided": "f" } },
      /hooks\.steering\.decided: There is no such question/,
    ],
    ["no question", { hooks: {} }, /svc\.hooks: Expected at least one question/],
    ["a function without a name", { hooks: { "command.run": "" } }, /hooks\.command\.run/],
    ["an unknown member", { permission: {} }, /svc\.permission/],
    ["more fuel than the ceiling", { limits: { fuel: 1e12 } }, /limits\.fuel: Expected at most 1000000000/],
    ["memory that is no number of pages", { limits: { memory: 100_000 } }, /limits\.memory/],
    ["half a millisecond", { limits: { wallClock: 0.5 } }, /limits\.wallClock/],
    ["an entry in another folder", { entry: "./a/b.wasm" }, /svc\.entry/],
    ["an absolute entry", { entry: "/etc/passwd" }, /svc\.entry/],
    ["plain http", { permissions: { net: ["http://api.example.com"] } }, /permissions\.net\.0: Expected an origin/],
    ["an origin with a path", { permissions: { net: ["https://api.example.com/v1"] } }, /permissions\.net\.0/],
    ["an origin with a user", { permissions: { net: ["https://a@api.example.com"] } }, /permissions\.net\.0/],
    ["an address", { permissions: { net: ["https://127.0.0.1"] } }, /permissions\.net\.0/],
    ["any host", { permissions: { net: ["https://*.example.com"] } }, /permissions\.net\.0/],
    ["a setting of the prototype's name", { permissions: { config: ["__proto__"] } }, /permissions\.config\.0/],
    [
      "settings with a pattern",
      { settings: { type: "string", pattern: "(a+)+$" } },
      /svc\.settings: It cannot be used/,
    ],
  ]
  it.each(refused)("with %s is refused", (_, svc, problem) => {
    expect(problemsOf(read({ svc })).join("\n")).toMatch(problem)
  })

  const hostile: ReadonlyArray<readonly [what: string, text: string | Uint8Array]> = [
    ["nothing", ""],
    ["no object", "[]"],
    ["null", "null"],
    ["half a document", '{"name":'],
    ["a name twice", '{"name":"a","name":"b"}'],
    ["a prototype", '{"__proto__":{"name":"a"}}'],
    ["an unpaired surrogate", '{"name":"\\ud800"}'],
    ["a number beyond a double", '{"name":1e999}'],
    ["deep nesting", `{"a":${"[".repeat(100)}${"]".repeat(100)}}`],
    ["bytes that are no text", new Uint8Array([0x7b, 0xff, 0x7d])],
    ["too many bytes", " ".repeat(70_000)],
    ["no part of ours", '{"$schema":"s","name":"a","version":"1.0.0","extensions":{}}'],
  ]
  it.each(hostile)("that is %s is refused", (_, text) => {
    expect(problemsOf(readText(text)).length).toBeGreaterThan(0)
  })

  it("has a JSON Schema that knows our part and nothing beside it", () => {
    const schema = JSON.stringify(manifestJsonSchema())
    for (const member of ["engine", "sha256", "permissions", "wallClock", "failure"])
      expect(schema).toContain(`"${member}"`)
    expect(manifestJsonSchema().properties.extensions.properties.svc).toMatchObject({ additionalProperties: false })
  })
})

describe("the canonical form", () => {
  // from RFC 8785, 3.2.2 and 3.2.3
  it("is that of RFC 8785", () => {
    const given = JSON.parse(
      String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
    )
    expect(canonicalJson(given)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    )
    const keys = JSON.parse(String.raw`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`)
    expect(
      Object.values(
        JSON.parse(
          `[${canonicalJson(keys)
            .match(/\d(?=[,}])/g)
            ?.join(",")}]`,
        ),
      ),
    ).toEqual([2, 4, 6, 7, 1, 5, 3])
  })
})
