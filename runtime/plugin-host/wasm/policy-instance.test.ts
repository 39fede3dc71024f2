import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { extismModule, policyGrants } from "#runtime/plugin-host/wasm/extism-abi.ts"
import { defaultPolicyLimits, type PolicyLimits } from "#runtime/plugin-host/wasm/policy-call.ts"
import { Policy, type PolicyFaultReason } from "#runtime/plugin-host/wasm/policy-instance.ts"
import { compilePolicy } from "#test/fixtures/wasm/assembly-script.ts"
import { mustAdmit, mustRefuse } from "#test/fixtures/wasm/support.ts"
import { wat } from "#test/fixtures/wasm/wat.ts"

const load = (bytes: Uint8Array, limits: Partial<PolicyLimits> = {}): Promise<Policy> =>
  Effect.runPromise(Policy.load(mustAdmit(bytes, policyGrants), { ...defaultPolicyLimits, ...limits }))

const steering = await compilePolicy("steering", "--use", "abort=steering/abort")

describe("a policy written in AssemblyScript", () => {
  it("answers a question", async () => {
    const policy = await load(steering)
    const exit = policy.askNow({ function: "decide", input: '{"signal":{}}', config: new Map([["mode", "strict"]]) })
    expect(exit).toMatchObject({
      ok: true,
      value: { decision: "continue", braces: 2, calls: 1, mode: "strict" },
      logs: [{ level: "info", message: "deciding on 13" }],
    })
    expect(steering.length).toBeLessThan(20_000)
  })

  it("keeps nothing from one question to the next", async () => {
    const policy = await load(steering)
    const exits = ["{}", "{{}}", "{}"].map((input) => policy.askNow({ function: "decide", input }))
    expect(exits.map((exit) => exit.ok && exit.value)).toMatchObject([{ calls: 1 }, { calls: 1 }, { calls: 1 }])
    expect(exits[2]).toEqual(exits[0])
  })

  it("gives the same bytes for the same fuel, in an instance that is new and in one that was used, and after a fault", async () => {
    const [one, other] = [await load(steering), await load(steering)]
    const question = { function: "decide", input: JSON.stringify({ text: "x".repeat(1_000) }) }
    const first = one.askNow(question)
    other.askNow({ function: "decide", input: '"something else"' })
    other.askNow({ function: "spin", input: "" })
    expect(other.askNow(question)).toEqual(first)
    for (let again = 0; again < 50; again++) expect(one.askNow(question)).toEqual(first)
  })

  it("sees its configuration, and no property that every object has", async () => {
    const policy = await load(steering)
    const modes = [new Map([["mode", "{}"]]), new Map(), undefined].map((config) => {
      const exit = policy.askNow({ function: "decide", input: "", ...(config === undefined ? {} : { config }) })
      return exit.ok ? exit.value : exit.reason
    })
    expect(modes).toMatchObject([{ mode: "{}" }, { mode: "none" }, { mode: "none" }])
  })

  const faults: ReadonlyArray<readonly [call: string, reason: PolicyFaultReason]> = [
    ["spin", "out_of_fuel"],
    ["recurse", "stack_exhausted"],
    ["refuse", "policy_error"],
    ["silent", "bad_answer"],
    ["missing", "no_such_function"],
  ]

  it.each(faults)("that fails in %s is a value: %s", async (name, reason) => {
    const exit = (await load(steering)).askNow({ function: name, input: "{}" })
    expect(exit).toMatchObject({ ok: false, reason })
    expect(exit.fuelUsed).toBeLessThanOrEqual(defaultPolicyLimits.fuel)
  })

  it("that hoards memory runs out of it, or of fuel", async () => {
    const policy = await load(steering, { fuel: 1_000_000_000 })
    expect(policy.askNow({ function: "hoard", input: "" })).toMatchObject({ ok: false, reason: "out_of_memory" })
    expect((await load(steering)).askNow({ function: "hoard", input: "" })).toMatchObject({ ok: false })
  })

  it("gives up through the host's abort with its own words and place", async () => {
    const policy = await load(await compilePolicy("aborting"))
    expect(policy.askNow({ function: "decide", input: "a,b" })).toMatchObject({ ok: true, value: "b" })
    const exit = policy.askNow({ function: "decide", input: "a" })
    expect(exit).toMatchObject({ ok: false, reason: "aborted" })
    expect(exit.ok ? "" : exit.message).toMatch(/Index out of range \(.*array\.ts:\d+:\d+\)/)
  })

  it("is refused when it wants more than it is granted, by the name of what it wants", async () => {
    const refusal = mustRefuse(await compilePolicy("reaching", "--use", "abort=reaching/abort"), policyGrants)
    expect(refusal.import).toBe(`${extismModule}.var_set`)
  })

  it.effect("fails as a typed failure, with its reason and fuel", () =>
    Effect.gen(function* () {
      const policy = yield* Policy.load(mustAdmit(steering, policyGrants), { ...defaultPolicyLimits, fuel: 5_000 })
      const fault = yield* Effect.flip(policy.ask({ function: "spin", input: "" }))
      expect(fault).toMatchObject({ _tag: "PolicyFault", reason: "out_of_fuel", fuelUsed: 5_000 })
    }),
  )
})

describe("what goes in and out is bounded", () => {
  const echo = async (input: string, limits: Partial<PolicyLimits> = {}) => {
    const exit = (await load(steering, limits)).askNow({ function: "echo", input })
    return exit.ok ? exit.value : exit.reason
  }

  it("a question", async () => {
    expect(await echo(`"${"x".repeat(65_534)}"`)).toHaveLength(65_534)
    expect(await echo(`"${"x".repeat(65_535)}"`)).toBe("input_too_large")
    expect(await echo(`"${"é".repeat(40_000)}"`)).toBe("input_too_large")
  })

  it("an answer", async () => {
    expect(await echo(`"${"x".repeat(98)}"`, { answerBytes: 100 })).toHaveLength(98)
    expect(await echo(`"${"x".repeat(99)}"`, { answerBytes: 100 })).toBe("answer_too_large")
  })

  it("what is allocated for the exchange", async () => {
    expect(await echo(`"${"x".repeat(5_000)}"`, { exchangeBytes: 4_096 })).toBe("exchange_exhausted")
  })

  it.each(["", "{", "[1,]", "undefined", "\u0000", '{"a":1}x'])("an answer must be JSON: %j is not", async (text) => {
    expect(await echo(text)).toBe("bad_answer")
  })

  it("an answer is not nested deeper than the limit", async () => {
    const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`
    expect(await echo(nested(64))).toEqual(JSON.parse(nested(64)))
    expect(await echo(nested(65))).toBe("bad_answer")
    expect(await echo(nested(30_000))).toBe("bad_answer")
    expect(await echo(`"${"[".repeat(1_000)}\\"${"[".repeat(1_000)}"`)).toHaveLength(2_001)
  })
})

describe("the exchange", () => {
  /** A policy in text, with the exchange functions imported. */
  const exchanging = (body: string): string => `(module
    (import "${extismModule}" "alloc" (func $alloc (param i64) (result i64)))
    (import "${extismModule}" "free" (func $free (param i64)))
    (import "${extismModule}" "length" (func $length (param i64) (result i64)))
    (import "${extismModule}" "load_u8" (func $load8 (param i64) (result i32)))
    (import "${extismModule}" "load_u64" (func $load64 (param i64) (result i64)))
    (import "${extismModule}" "store_u8" (func $store8 (param i64 i32)))
    (import "${extismModule}" "store_u64" (func $store64 (param i64 i64)))
    (import "${extismModule}" "input_load_u8" (func $input8 (param i64) (result i32)))
    (import "${extismModule}" "input_load_u64" (func $input64 (param i64) (result i64)))
    (import "${extismModule}" "output_set" (func $output (param i64 i64)))
    (import "${extismModule}" "error_set" (func $error (param i64)))
    (import "${extismModule}" "config_get" (func $config (param i64) (result i64)))
    (import "${extismModule}" "log_warn" (func $log (param i64)))
    (func (export "f") (local i64) ${body}))`

  const run = async (body: string, input = "12") =>
    (await load(wat(exchanging(body)))).askNow({ function: "f", input, config: new Map([["k", "v"]]) })

  const four = "(local.set 0 (call $alloc (i64.const 4))) (call $store8 (local.get 0) (i32.const 0x31))"

  it("gives what was stored", async () => {
    expect(await run(`${four} (call $output (local.get 0) (i64.const 1))`)).toMatchObject({ ok: true, value: 1 })
  })

  it.each([
    ["a load at nothing", "(drop (call $load8 (i64.const 0)))"],
    ["a load before everything", "(drop (call $load64 (i64.const -8)))"],
    ["a load behind everything", "(drop (call $load64 (i64.const 0x7fffffffffffffff)))"],
    ["a load over the end", "(drop (call $load64 (i64.add (call $alloc (i64.const 8)) (i64.const 1))))"],
    ["a store at nothing", "(call $store8 (i64.const 0) (i32.const 1))"],
    ["a store behind everything", "(call $store64 (i64.const 1000000) (i64.const 1))"],
    ["input behind its end", "(drop (call $input8 (i64.const 2)))"],
    ["input before its beginning", "(drop (call $input8 (i64.const -1)))"],
    ["a word of input over its end", "(drop (call $input64 (i64.const 0)))"],
    ["an answer at nothing", "(call $output (i64.const 0) (i64.const 1))"],
    ["an answer behind everything", "(call $output (i64.const 16) (i64.const 60000))"],
    ["an error at nothing", "(call $error (i64.const 0))"],
  ])("does not allow %s", async (_, body) => {
    expect(await run(body)).toMatchObject({ ok: false, reason: "host_error" })
  })

  it.each([
    ["of a negative size", "(drop (call $alloc (i64.const -1)))", "exchange_exhausted"],
    ["of more than there may be", "(drop (call $alloc (i64.const 2000000)))", "exchange_exhausted"],
    ["again and again", "(loop (drop (call $alloc (i64.const 1000))) (br 0))", "exchange_exhausted"],
    ["of nothing, again and again", "(loop (drop (call $alloc (i64.const 0))) (br 0))", "exchange_exhausted"],
    ["and freeing, again and again", "(loop (call $free (call $alloc (i64.const 100000))) (br 0))", "out_of_fuel"],
  ])("bounds allocating %s", async (_, body, reason) => {
    const started = performance.now()
    expect(await run(body)).toMatchObject({ ok: false, reason })
    expect(performance.now() - started).toBeLessThan(2_000)
  })

  it.each([
    ["an answer of a negative length", "(call $output (i64.const 16) (i64.const -1))", "answer_too_large"],
    ["endless logging", `(loop ${four} (call $log (local.get 0)) (br 0))`, "out_of_fuel"],
    ["endless configuration", `(loop ${four} (drop (call $config (local.get 0))) (br 0))`, "out_of_fuel"],
  ])("bounds %s", async (_, body, reason) => {
    const exit = await run(body)
    expect(exit).toMatchObject({ ok: false, reason })
    expect(exit.logs.length).toBeLessThanOrEqual(32)
  })

  it("lets a policy say that it failed", async () => {
    expect(await run(`${four} (call $error (local.get 0))`)).toMatchObject({ reason: "policy_error" })
  })

  it("treats the addresses of freed, unknown and inner blocks as nothing", async () => {
    const body = `${four} (call $free (local.get 0)) (call $free (local.get 0)) (call $free (i64.const 7777))
      (if (i64.ne (i64.add (call $length (local.get 0)) (call $length (i64.const 12))) (i64.const 0)) (then (unreachable)))
      ${four} (call $output (local.get 0) (i64.const 1))`
    expect(await run(body)).toMatchObject({ ok: true, value: 1 })
  })
})

describe("initialisation", () => {
  it("runs before every question, on the fuel of the question", async () => {
    const text = (initialise: string) => `(module
      (import "${extismModule}" "alloc" (func $alloc (param i64) (result i64)))
      (import "${extismModule}" "store_u8" (func $store8 (param i64 i32)))
      (import "${extismModule}" "output_set" (func $output (param i64 i64)))
      (memory 1) (global $n (mut i32) (i32.const 0))
      (func $start (global.set $n (i32.add (global.get $n) (i32.const 1)))) (start $start)
      (func (export "_initialize") ${initialise})
      (func (export "f") (local i64) (local.set 0 (call $alloc (i64.const 1)))
        (call $store8 (local.get 0) (i32.add (i32.const 0x30) (global.get $n))) (call $output (local.get 0) (i64.const 1))))`
    const policy = await load(wat(text("(global.set $n (i32.mul (global.get $n) (i32.const 5)))")))
    const exits = [1, 2, 3].map(() => policy.askNow({ function: "f", input: "" }))
    expect(exits.map((exit) => exit.ok && exit.value)).toEqual([5, 5, 5])
    expect(new Set(exits.map((exit) => exit.fuelUsed)).size).toBe(1)
    const endless = await load(wat(text("(loop (br 0))")))
    expect(endless.askNow({ function: "f", input: "" })).toMatchObject({
      reason: "out_of_fuel",
      fuelUsed: defaultPolicyLimits.fuel,
    })
  })
})
