/** A policy in JavaScript has what a policy in any other language has, and no more: its question, its settings, fuel and memory. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { compileTypeScript } from "#runtime/plugin-host/kit/typescript/compile.ts"
import { admit } from "#runtime/plugin-host/wasm/admission.ts"
import { policyGrants } from "#runtime/plugin-host/wasm/extism-abi.ts"
import { defaultLimits } from "#runtime/plugin-host/wasm/limits.ts"
import { defaultPolicyLimits } from "#runtime/plugin-host/wasm/policy-call.ts"
import { Policy } from "#runtime/plugin-host/wasm/policy-instance.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const compiled = async (source: string, name = "policy.ts"): Promise<Uint8Array> => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, name), source)
  return Effect.runPromise(compileTypeScript(folder, name, ["decide"]))
}

const admitted = (wasm: Uint8Array) => Effect.runPromise(admit(wasm, defaultLimits, policyGrants))

const policyOf = async (body: string) => {
  const wasm = await compiled(`export const decide = (ask) => { ${body} }`, "policy.js")
  return Effect.runPromise(Policy.load(await admitted(wasm), defaultPolicyLimits))
}

const asked = async (body: string, ask: unknown = {}, config: ReadonlyMap<string, string> = new Map()) =>
  (await policyOf(body)).askNow({ function: "decide", input: JSON.stringify(ask), config })

/** What is wrong with a policy that should not be built. */
const refusalOf = async (source: string) => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, "policy.ts"), source)
  return (await Effect.runPromise(Effect.flip(compileTypeScript(folder, "policy.ts", ["decide"])))).message
}

describe("a policy in JavaScript", () => {
  it("is a module like any other: it imports nothing of a system", async () => {
    const { imports, exports } = await admitted(await compiled("export const decide = () => null"))
    expect(new Set(imports.map(({ module }) => module))).toEqual(new Set(["extism:host/env"]))
    expect(imports.map(({ name }) => name)).not.toContain("var_set")
    expect(exports.map(({ name }) => name)).toEqual(["decide"])
  })

  it("is built to the same bytes from the same source", async () => {
    const source = "export const decide = (ask: unknown) => ({ got: ask })"
    expect(Buffer.compare(await compiled(source), await compiled(source))).toBe(0)
  })

  it.each([
    ["Date.now()", "clock"],
    ["new Date()", "clock"],
    ["new (Object.getPrototypeOf(Date))()", "clock"],
    ["Reflect.construct(Date, [])", "clock"],
    ["new (new Date(0).constructor)()", "clock"],
    ["Math.random()", "randomness"],
  ])("gets nothing that changes from %s", async (expression, what) => {
    const exit = await asked(`return String(${expression})`)
    const same = await asked(`return String(${expression})`)
    expect(exit).toEqual(same)
    if (!exit.ok) expect(exit.message).toContain(`A policy has no ${what}`)
    else expect(exit.value).toContain("1970")
  })

  it("knows days that it is told", async () => {
    expect(await asked('return new Date("2026-05-01").toISOString()')).toMatchObject({
      ok: true,
      value: "2026-05-01T00:00:00.000Z",
    })
  })

  it("sees no host: no process, no require, no fetch, no timers, no files", async () => {
    const names = ["process", "require", "fetch", "setTimeout", "std", "os", "performance", "WebAssembly", "svcHost"]
    const exit = await asked(`return ${JSON.stringify(names)}.filter((name) => name in globalThis)`)
    expect(exit).toMatchObject({ ok: true, value: [] })
    expect(await refusalOf('import "node:fs"; export const decide = () => null')).toMatch(/node:fs/)
  })

  it("keeps nothing from one question to the next", async () => {
    const policy = await policyOf("globalThis.seen = (globalThis.seen ?? 0) + 1; return globalThis.seen")
    const answers = [1, 2, 3].map(() => policy.askNow({ function: "decide", input: "{}" }))
    expect(answers.map((exit) => (exit.ok ? exit.value : exit.reason))).toEqual([1, 1, 1])
    expect(new Set(answers.map(({ fuelUsed }) => fuelUsed)).size).toBe(1)
  })

  it("is given its settings, and what it writes to the console", async () => {
    const body = 'console.warn("limit", { is: config("limit") }); return [config("limit"), config("other") ?? null]'
    expect(await asked(body, {}, new Map([["limit", "5 é"]]))).toMatchObject({
      ok: true,
      value: ["5 é", null],
      logs: [{ level: "warn", message: 'limit {"is":"5 é"}' }],
    })
  })

  it("gives texts back as they came, whatever is in them", async () => {
    const text = 'é \u0000 \ud83d\ude00 \\ " \u2028 \ud800'
    expect(await asked("return ask.text", { text })).toMatchObject({ ok: true, value: text })
  })

  it("has no opinion where it answers nothing", async () => {
    expect(await asked("")).toMatchObject({ ok: true, value: null })
  })

  it.each([
    ["an endless loop", "for (;;) {}", "out_of_fuel"],
    ["an endless loop that catches everything", "for (;;) { try { throw 1 } catch {} }", "out_of_fuel"],
    ["a slow pattern", 'return /^(a+)+$/.test("a".repeat(40) + "!")', "out_of_fuel"],
    ["an endless list", "const all = []; for (;;) all.push(new Array(10000).fill(all))", undefined],
    ["a long text", 'return "x".repeat(1 << 29).length', undefined],
    ["endless recursion", "const f = () => f() + 1; return f()", "stack_exhausted"],
    ["a deep question back", "let a = []; for (let i = 0; i < 5000; i++) a = [a]; return a", undefined],
    ["an answer that is too large", 'return "x".repeat(70000)', undefined],
  ])("ends within its budget: %s", async (_, body, reason) => {
    const started = performance.now()
    const exit = await asked(body)
    expect(exit.ok).toBe(false)
    if (reason !== undefined) expect(exit).toMatchObject({ reason })
    expect(exit.fuelUsed).toBeLessThanOrEqual(defaultPolicyLimits.fuel)
    // fuel bounds it; this only says that nothing hangs, compilation included
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  it("answers the next question after a fault", async () => {
    const policy = await policyOf("if (ask.loop) for (;;) {} return 1")
    const ask = (input: unknown) => policy.askNow({ function: "decide", input: JSON.stringify(input) })
    const before = ask({})
    expect(ask({ loop: true })).toMatchObject({ ok: false, reason: "out_of_fuel" })
    expect(ask({})).toEqual(before)
  })

  it("says what was thrown", async () => {
    expect(await asked('throw new TypeError("no such subtask")')).toMatchObject({
      ok: false,
      reason: "policy_error",
      message: "TypeError: no such subtask",
    })
  })

  it("is not built where it promises to answer later, lacks its function, or fails at once", async () => {
    expect(await asked("return Promise.resolve(1)")).toMatchObject({ ok: false, reason: "policy_error" })
    expect(await refusalOf("export const other = 1")).toMatch(/decide/)
    expect(await refusalOf('throw new Error("broken")\nexport const decide = () => null')).toMatch(/broken/)
    expect(await refusalOf("config('x')\nexport const decide = () => null")).toMatch(/before it is asked/)
    expect(await refusalOf("export const decide = (")).toMatch(/policy\.ts:1/)
  })
})
