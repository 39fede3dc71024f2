/** Modules written to hurt the host: each is stopped within its budget, with the reason told. */
import { describe, expect, it } from "vitest"
import type { FaultReason } from "#runtime/plugin-host/wasm/fault.ts"
import { HostFault } from "#runtime/plugin-host/wasm/fault.ts"
import type { Grant } from "#runtime/plugin-host/wasm/grants.ts"
import { defaultStackBytes, type HostFunctions, Instance } from "#runtime/plugin-host/wasm/instance.ts"
import { pageBytes } from "#runtime/plugin-host/wasm/limits.ts"
import { compileNow, instantiate, mustAdmit } from "#test/fixtures/wasm/support.ts"
import { wat } from "#test/fixtures/wasm/wat.ts"

const fuel = 10_000_000
const budget = { fuel, stackBytes: defaultStackBytes }
/** No call may block its thread for longer, on a slow and busy machine. */
const longestMillis = 2_000

const faultOf = (
  text: string,
  grants: ReadonlyArray<Grant> = [],
  functions: HostFunctions = new Map(),
): FaultReason => {
  const instance = instantiate(mustAdmit(wat(text), grants), functions)
  const started = performance.now()
  const exit = instance.call("f", [], budget)
  expect(performance.now() - started).toBeLessThan(longestMillis)
  expect(exit.fuelUsed).toBeLessThanOrEqual(fuel)
  if (exit.ok) throw new Error("it ended")
  return exit.fault.reason
}

describe("an endless loop runs out of fuel", () => {
  it.each([
    ["by br", "(loop (br 0))"],
    ["by br_if", "(loop (br_if 0 (i32.const 1)))"],
    ["by br_table", "(loop (br_table 0 0 0 (i32.const 7)))"],
    ["by a branch from deep inside", "(loop (block (block (block (br 3)))))"],
    ["around an if", "(loop (if (i32.const 1) (then (br 1)) (else (br 1))))"],
    ["with parameters", "i32.const 1 (loop (param i32) (result i32) (br 0)) drop"],
    ["within a loop that ends", "(local i32) (loop (loop (br 0)) (br_if 1 (local.get 0)))"],
    ["between two loops", "(loop (loop (br 1)))"],
    ["after unreachable code", "(block (br 0) (loop (br 0))) (loop (br 0))"],
    ["that does nothing", "(loop (nop) (br 0))"],
    ["that allocates in vain", "(loop (drop (memory.grow (i32.const 65535))) (br 0))"],
    ["that grows by nothing", "(loop (drop (memory.grow (i32.const 0))) (br 0))"],
    ["that grows a table by nothing", "(loop (drop (table.grow (ref.null func) (i32.const 0))) (br 0))"],
    ["that fills", "(loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br 0))"],
    ["that copies", "(loop (memory.copy (i32.const 0) (i32.const 1) (i32.const 65535)) (br 0))"],
    ["that fills nothing", "(loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 0)) (br 0))"],
    ["that fills a table", "(loop (table.fill (i32.const 0) (ref.null func) (i32.const 1000)) (br 0))"],
    ["that copies a table", "(loop (table.copy (i32.const 0) (i32.const 1) (i32.const 999)) (br 0))"],
    ["of divisions", "(loop (drop (f64.sqrt (f64.div (f64.const 1) (f64.const 3)))) (br 0))"],
    ["of calls", "(loop (call $nothing) (br 0))"],
    ["of calls of a function with many locals", "(loop (call $locals) (br 0))"],
    ["of indirect calls", "(loop (call_indirect (i32.const 0)) (br 0))"],
  ])("%s", (_, body) => {
    const module = `(module (memory 1) (table 1000 funcref) (elem (i32.const 0) func $nothing)
      (func $nothing) (func $locals (local ${"i64 ".repeat(4_000)})) (func (export "f") ${body}))`
    expect(faultOf(module)).toBe("out_of_fuel")
  })

  it("in a start function, which runs when the host says, on fuel", () => {
    const admitted = mustAdmit(wat('(module (func $start (loop (br 0))) (start $start) (func (export "f")))'))
    const instance = Instance.create(compileNow(admitted), new Map())
    if (!(instance instanceof Instance)) throw new Error(instance.message)
    const exit = instance.start({ ...budget, fuel: 1_000 })
    expect(exit).toMatchObject({ ok: false, fault: { reason: "out_of_fuel" }, fuelUsed: 1_000 })
    // It faulted: it is not called again.
    expect(instance.call("f", [], budget)).toMatchObject({ ok: false })
  })

  it("of two functions that call each other in turn, and return in time for the stack", () => {
    const module = `(module (func $f (export "f") (call $h (i32.const 24)) (call $f))
      (func $h (param i32)
        (if (local.get 0) (then (call $h (i32.sub (local.get 0) (i32.const 1))) (call $h (i32.sub (local.get 0) (i32.const 1)))))))`
    expect(faultOf(module)).toBe("out_of_fuel")
  })
})

describe("a bulk operation costs what its length does", () => {
  it.each([
    ["memory.fill", "(memory.fill (i32.const 0) (i32.const 0) (i32.const -1))"],
    ["memory.copy", "(memory.copy (i32.const 0) (i32.const 0) (i32.const -1))"],
    ["memory.init", "(memory.init $d (i32.const 0) (i32.const 0) (i32.const -1))"],
    ["table.fill", "(table.fill (i32.const 0) (ref.null func) (i32.const -1))"],
    ["table.copy", "(table.copy (i32.const 0) (i32.const 0) (i32.const -1))"],
    ["table.init", "(table.init $e (i32.const 0) (i32.const 0) (i32.const -1))"],
    ["table.grow", "(drop (table.grow (ref.null func) (i32.const -1)))"],
  ])("%s of four thousand million is not begun", (_, body) => {
    expect(
      faultOf(
        `(module (memory 1) (table 10 funcref) (data $d "abc") (elem $e func $f) (func $f (export "f") ${body}))`,
      ),
    ).toBe("out_of_fuel")
  })

  it("by a multiple of the length", () => {
    const used = (length: number): number => {
      const text = `(module (memory 1) (func (export "f") (memory.fill (i32.const 0) (i32.const 1) (i32.const ${length}))))`
      return instantiate(mustAdmit(wat(text))).call("f", [], budget).fuelUsed
    }
    expect(used(64_000) - used(32_000)).toBe(32_000 / 8)
  })
})

describe("recursion ends at the same depth every time, before the stack of the thread does", () => {
  const endless: ReadonlyArray<readonly [what: string, text: string]> = [
    ["of nothing", '(func $f (export "f") (call $f))'],
    ["of two", '(func $f (export "f") (call $g)) (func $g (call $f))'],
    [
      "through a table",
      '(table 1 funcref) (elem (i32.const 0) func $f) (func $f (export "f") (call_indirect (i32.const 0)))',
    ],
    ["with many locals", `(func $f (export "f") (local ${"i64 ".repeat(2_000)}) (call $f))`],
    ["with many vectors", `(func $f (export "f") (local ${"v128 ".repeat(1_000)}) (call $f))`],
    [
      "with many parameters",
      `(func (export "f") ${"i64.const 1 ".repeat(100)} (call $g))
       (func $g (param ${"i64 ".repeat(100)}) ${Array.from({ length: 100 }, (_, i) => `local.get ${i}`).join(" ")} (call $g))`,
    ],
    [
      "with many results",
      `(func (export "f") (call $g) ${"drop ".repeat(64)})
       (func $g (result ${"f64 ".repeat(64)}) (call $g))`,
    ],
    [
      "with live values",
      `(func (export "f") (drop (call $g (i64.const 1))))
       (func $g (param i64) (result i64) ${Array.from({ length: 60 }, (_, i) => `(i64.mul (local.get 0) (i64.const ${i + 3}))`).join(" ")}
         (call $g (local.get 0)) ${"i64.add ".repeat(60)})`,
    ],
  ]

  it.each(endless)("%s", (_, functions) => {
    const admitted = mustAdmit(wat(`(module ${functions})`))
    const used = [0, 1, 2].map(() => {
      const exit = instantiate(admitted).call("f", [], { ...budget, fuel: 1_000_000_000 })
      expect(exit).toMatchObject({ ok: false, fault: { reason: "stack_exhausted" } })
      return exit.fuelUsed
    })
    expect(new Set(used).size).toBe(1)
  })

  it("even in code that the engine has optimised, or inlined", () => {
    const text = `(module
      (func $f (param i64 i64) (result i64)
        (if (result i64) (i64.eqz (local.get 0)) (then (local.get 1))
          (else (i64.add (i64.mul (local.get 0) (local.get 1))
            (call $f (i64.sub (local.get 0) (i64.const 1)) (i64.xor (local.get 1) (local.get 0)))))))
      (func (export "warm") (param i32) (loop (drop (call $f (i64.const 20) (i64.const 3)))
        (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
      (func (export "f") (drop (call $f (i64.const -1) (i64.const 1)))))`
    const admitted = mustAdmit(wat(text))
    const cold = instantiate(admitted).call("f", [], budget)
    const warmed = instantiate(admitted)
    expect(warmed.call("warm", [200_000], { ...budget, fuel: 1_000_000_000 })).toMatchObject({ ok: true })
    expect(warmed.call("f", [], budget)).toEqual(cold)
    expect(cold).toMatchObject({ ok: false, fault: { reason: "stack_exhausted" } })
  })

  it("and what is left of the stack's own end is a value too", () => {
    const admitted = mustAdmit(wat('(module (func $f (export "f") (call $f)))'))
    const exit = instantiate(admitted).call("f", [], { fuel: 1_000_000_000, stackBytes: 2 ** 31 - 1 })
    expect(exit).toMatchObject({ ok: false, fault: { reason: "stack_overflow" } })
  })
})

describe("memory", () => {
  it("that could not grow is told as the reason of the trap that follows", () => {
    const text = `(module (memory 1) (func (export "f")
      (if (i32.eq (memory.grow (i32.const 100000)) (i32.const -1)) (then (unreachable)))))`
    expect(faultOf(text)).toBe("out_of_memory")
  })

  it("never grows beyond the limit, whatever is asked", () => {
    const text = `(module (memory 1) (func (export "f")
      (loop (drop (memory.grow (i32.const 1))) (br 0))))`
    const instance = instantiate(mustAdmit(wat(text), [], { memoryPages: 16 }))
    expect(instance.call("f", [], budget)).toMatchObject({ fault: { reason: "out_of_fuel" } })
    expect(instance.memory?.length).toBe(16 * pageBytes)
  })

  it("that a segment does not fit in is a fault when it is instantiated, not an exception", () => {
    const admitted = mustAdmit(wat('(module (memory 1) (data (i32.const 65535) "xx"))'))
    expect(Instance.create(compileNow(admitted), new Map())).toMatchObject({ reason: "instantiation" })
  })
})

describe("a trap has its kind", () => {
  it.each<readonly [FaultReason, string]>([
    ["unreachable", "unreachable"],
    ["memory_out_of_bounds", "(drop (i32.load (i32.const 65536)))"],
    ["memory_out_of_bounds", "(i64.store offset=4294967295 (i32.const 1) (i64.const 1))"],
    ["memory_out_of_bounds", "(memory.fill (i32.const 1) (i32.const 1) (i32.const 65536))"],
    ["table_out_of_bounds", "(drop (table.get (i32.const 2)))"],
    ["indirect_call", "(call_indirect (i32.const 1))"],
    ["indirect_call", "(call_indirect (param i32) (i32.const 1) (i32.const 0))"],
    ["table_out_of_bounds", "(call_indirect (i32.const 2))"],
    ["integer_divide_by_zero", "(drop (i32.div_s (i32.const 1) (i32.const 0)))"],
    ["integer_divide_by_zero", "(drop (i64.rem_u (i64.const 1) (i64.const 0)))"],
    ["integer_overflow", "(drop (i32.div_s (i32.const 0x80000000) (i32.const -1)))"],
    ["invalid_conversion", "(drop (i32.trunc_f64_s (f64.const nan)))"],
  ])("%s: %s", (reason, body) => {
    const module = `(module (memory 1) (table 2 funcref) (elem (i32.const 0) func $f) (func $f (export "f") ${body}))`
    expect(faultOf(module)).toBe(reason)
  })
})

describe("an imported function", () => {
  const grant: Grant = { module: "env", name: "host", params: [], results: [], price: 1_000 }
  const doing = (host: () => undefined): HostFunctions => new Map([["env", new Map([["host", host]])]])
  const calls = (text: string) => {
    let count = 0
    const counting = doing(() => {
      count++
    })
    return { reason: faultOf(text, [grant], counting), count }
  }

  it.each([
    ["directly", '(import "env" "host" (func $host)) (func (export "f") (loop (call $host) (br 0)))'],
    [
      "through a table",
      '(import "env" "host" (func $host)) (table 1 funcref) (elem (i32.const 0) func $host) (func (export "f") (loop (call_indirect (i32.const 0)) (br 0)))',
    ],
    [
      "through a reference",
      '(import "env" "host" (func $host)) (table 1 funcref) (elem declare func $host) (func (export "f") (table.set (i32.const 0) (ref.func $host)) (loop (call_indirect (i32.const 0)) (br 0)))',
    ],
    [
      "through a segment of references",
      '(import "env" "host" (func $host)) (table 1 funcref) (elem $e funcref (ref.func $host)) (func (export "f") (table.init $e (i32.const 0) (i32.const 0) (i32.const 1)) (loop (call_indirect (i32.const 0)) (br 0)))',
    ],
    [
      "through a global",
      '(import "env" "host" (func $host)) (table 1 funcref) (global $g funcref (ref.func $host)) (func (export "f") (table.set (i32.const 0) (global.get $g)) (loop (call_indirect (i32.const 0)) (br 0)))',
    ],
  ])("costs its price when it is called %s", (_, module) => {
    const { reason, count } = calls(`(module ${module})`)
    expect(reason).toBe("out_of_fuel")
    expect(count).toBeGreaterThan(9_000)
    expect(count).toBeLessThan(10_000)
  })

  it("costs its price when it is exported, or the start function", () => {
    let count = 0
    const admitted = mustAdmit(
      wat('(module (import "env" "host" (func $host)) (export "f" (func $host)) (start $host))'),
      [grant],
    )
    const instance = instantiate(
      admitted,
      doing(() => {
        count++
      }),
    )
    expect(count).toBe(0)
    expect(instance.start(budget).fuelUsed).toBeGreaterThanOrEqual(1_000)
    expect(instance.call("f", [], budget).fuelUsed).toBeGreaterThanOrEqual(1_000)
    expect(instance.call("f", [], { ...budget, fuel: 999 })).toMatchObject({ fault: { reason: "out_of_fuel" } })
    expect(count).toBe(2)
  })

  it("cannot have the fuel of its call filled up by calling again", () => {
    const text = '(module (import "env" "host" (func $host)) (func (export "f") (call $host)))'
    const answers: Array<unknown> = []
    const instance = instantiate(
      mustAdmit(wat(text), [grant]),
      doing(() => {
        answers.push(instance.call("f", [], budget), instance.reset())
      }),
    )
    expect(instance.call("f", [], { ...budget, fuel: 1_100 })).toMatchObject({ ok: true })
    expect(answers).toMatchObject([{ ok: false, fault: { reason: "trap" } }, false])
  })

  it("that throws ends the call with a value", () => {
    const text = '(module (import "env" "host" (func $host)) (func (export "f") (call $host)))'
    const refusing = doing(() => {
      throw new HostFault("aborted", "no")
    })
    const broken = doing(() => {
      throw new TypeError("undefined is not an object")
    })
    expect(faultOf(text, [grant], refusing)).toBe("aborted")
    expect(faultOf(text, [grant], broken)).toBe("host_error")
  })
})

describe("a call", () => {
  const instance = () => instantiate(mustAdmit(wat('(module (memory (export "m") 1) (func (export "f") (param i64)))')))

  it.each([
    ["of nothing", "g", []],
    ["of a memory", "m", []],
    ["of what the host added", "svc:fuel", []],
    ["with too few arguments", "f", []],
    ["with arguments of another type", "f", [1]],
    ["of a property of every object", "toString", []],
  ])("%s is refused", (_, name, args) => {
    expect(instance().call(name, args, budget)).toMatchObject({ ok: false, fault: { reason: "no_such_function" } })
  })
})
