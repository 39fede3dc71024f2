/**
 * The meter changes nothing but fuel: random valid modules give the same results, memory, globals and traps with it
 * and without it. `SVC_WASM_MODULES` sets how many modules are tried (default 1,500), `SVC_WASM_SEED` the first seed.
 */
import { describe, expect, it } from "vitest"
import type { Grant } from "#runtime/plugin-host/wasm/grants.ts"
import { defaultStackBytes, type HostFunctions } from "#runtime/plugin-host/wasm/instance.ts"
import { hostSignature, random } from "#test/fixtures/wasm/random-choices.ts"
import { type RandomModule, randomModule } from "#test/fixtures/wasm/random-module.ts"
import { instantiate, mustAdmit } from "#test/fixtures/wasm/support.ts"

const modules = Number(process.env.SVC_WASM_MODULES ?? 1_500)
const firstSeed = Number(process.env.SVC_WASM_SEED ?? 1)

const fuel = 100_000
const budget = { fuel, stackBytes: defaultStackBytes }
const grant: Grant = { module: "env", name: "host", ...hostSignature }
const host = (value: number) => (Math.imul(value, 3) + 1) | 0
const functions: HostFunctions = new Map([["env", new Map([["host", host]])]])

const argumentsOf = (module: RandomModule, seed: number) => {
  const below = random(seed)
  const numbers = [0, 1, -1, 2, 100, 65_535]
  return module.functions.map((params) =>
    params.map((type) => {
      const number = numbers[below(numbers.length)] ?? 0
      return type === "i64" ? BigInt(number) : number
    }),
  )
}

/** Text of what a call gives; NaN is NaN whatever its bits. */
const text = (value: unknown): string =>
  Array.isArray(value) ? value.map(text).join() : Object.is(value, -0) ? "-0" : String(value)

interface Seen {
  readonly outcome: string
  readonly state: string
}

/** Everything that can be seen of an instance from outside. */
const stateOf = (exports: Readonly<Record<string, WebAssembly.ExportValue>>, globals: number): string => {
  const memory = exports.memory instanceof WebAssembly.Memory ? Buffer.from(exports.memory.buffer) : Buffer.alloc(0)
  const values = Array.from({ length: globals }, (_, index) => {
    const global = exports[`g${index}`]
    return global instanceof WebAssembly.Global ? text(global.value) : ""
  })
  const table = exports.table
  const size = table !== undefined && "length" in table ? table.length : 0
  return [memory.length, Buffer.from(memory).toString("latin1"), values.join(), size].join("|")
}

const runPlain = (instance: WebAssembly.Instance, name: string, args: ReadonlyArray<unknown>): string => {
  const target = instance.exports[name]
  if (typeof target !== "function") return "missing"
  try {
    return text(target(...args))
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return `trap: ${error.message}`
    throw error
  }
}

/** Seeds one after another; a failure names its seed. */
const forSeeds = (check: (seed: number) => void): void => {
  for (let seed = firstSeed; seed < firstSeed + modules; seed++) {
    try {
      check(seed)
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error })
    }
  }
}

describe("a metered random module", () => {
  const counts = { same: 0, trapped: 0, stopped: 0, reset: 0 }

  const check = (seed: number): void => {
    const module = randomModule(seed)
    const admitted = mustAdmit(module.bytes, [grant])
    const metered = instantiate(admitted, functions)
    const again = instantiate(admitted, functions)
    const plain = new WebAssembly.Instance(new WebAssembly.Module(module.bytes), { env: { host } })
    const args = argumentsOf(module, seed)
    const seen: Array<Seen> = []
    for (const [index, params] of args.entries()) {
      const name = `f${index}`
      const exit = metered.call(name, params, budget)
      const repeated = again.call(name, params, budget)
      // Deterministic, fuel included.
      expect(repeated).toEqual(exit)
      expect(exit.fuelUsed).toBeLessThanOrEqual(fuel)
      expect(exit.fuelUsed).toBeGreaterThan(0)
      if (!exit.ok && (exit.fault.reason === "out_of_fuel" || exit.fault.reason === "stack_exhausted")) {
        counts.stopped++
        return
      }
      const expected = runPlain(plain, name, params)
      const outcome = exit.ok ? text(exit.value) : `trap: ${exit.fault.message.replace(/^.*; then: /, "")}`
      expect(outcome).toBe(expected)
      const state = stateOf(metered.exports, module.globals)
      expect(state === stateOf(plain.exports, module.globals)).toBe(true)
      seen.push({ outcome, state })
      if (!exit.ok) {
        counts.trapped++
        return
      }
      // One unit less is not enough.
      if (index === 0 && exit.fuelUsed > 1) {
        const enough = instantiate(admitted, functions).call(name, params, { ...budget, fuel: exit.fuelUsed })
        expect(enough).toEqual(exit)
        const short = instantiate(admitted, functions).call(name, params, { ...budget, fuel: exit.fuelUsed - 1 })
        expect(short.ok ? "ended" : short.fault.reason).toBe("out_of_fuel")
      }
    }
    counts.same++
    if (!metered.reset()) return
    counts.reset++
    for (const [index, params] of args.entries()) {
      const exit = metered.call(`f${index}`, params, budget)
      expect(exit.ok ? text(exit.value) : exit.fault.message).toBe(seen[index]?.outcome)
      expect(stateOf(metered.exports, module.globals) === seen[index]?.state).toBe(true)
    }
  }

  it(`does what the plain one does, for the same fuel every time (${modules} modules)`, { timeout: 600_000 }, () => {
    forSeeds(check)
    expect(counts.same).toBeGreaterThan(modules / 4)
    expect(counts.reset).toBeGreaterThan(modules / 20)
  })
  it("pays for every instruction that it executes", { timeout: 600_000 }, () => {
    let compared = 0
    forSeeds((seed) => {
      const module = randomModule(seed)
      const params = argumentsOf(module, seed)[0] ?? []
      const exit = instantiate(mustAdmit(module.bytes, [grant]), functions).call("f0", params, budget)
      if (!exit.ok) return
      const counted = new WebAssembly.Instance(new WebAssembly.Module(randomModule(seed, true).bytes), {
        env: { host },
      })
      runPlain(counted, "f0", params)
      const { counter } = counted.exports
      const executed = counter instanceof WebAssembly.Global ? Number(counter.value) : 0
      expect(exit.fuelUsed).toBeGreaterThanOrEqual(executed)
      if (executed > 0) compared++
    })
    expect(compared).toBeGreaterThan(modules / 5)
  })
})
