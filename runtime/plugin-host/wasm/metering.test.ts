/** What is paid, path by path, and what can be set back. */
import { describe, expect, it } from "vitest"
import { defaultStackBytes } from "#runtime/plugin-host/wasm/instance.ts"
import { instantiate, mustAdmit } from "#test/fixtures/wasm/support.ts"
import { wat } from "#test/fixtures/wasm/wat.ts"

const budget = { fuel: 1_000_000, stackBytes: defaultStackBytes }

/** Work that would be seen if it were not paid: more than everything else of a test together. */
const work = 1_000
const long = "nop ".repeat(work)

describe("what follows a join is paid on every path that leads to it", () => {
  /** Each body does `work` once, after the join, whatever its parameter is. */
  const joins: ReadonlyArray<readonly [what: string, body: string]> = [
    ["a block left by br_if", `(block (br_if 0 (local.get 0)) (if (i32.const 1) (then (nop)))) ${long}`],
    ["a block left from one within", `(block (block (br_if 1 (local.get 0)) (if (i32.const 1) (then)))) ${long}`],
    ["a block left from a loop", `(block (loop (br_if 1 (local.get 0)) (if (i32.const 1) (then)))) ${long}`],
    ["a block left from an arm", `(block (if (local.get 0) (then (br 1)) (else (nop)))) ${long}`],
    ["a block left from both arms", `(block (if (local.get 0) (then (br 1)) (else (br 1))) (nop)) ${long}`],
    ["blocks left by br_table", `(block (block (block (br_table 0 1 2 (local.get 0))))) ${long}`],
    ["the end of an if", `(if (local.get 0) (then (nop))) ${long}`],
    ["the end of an if and its else", `(if (local.get 0) (then (nop)) (else (nop))) ${long}`],
    ["both arms", `(if (local.get 0) (then ${long}) (else ${long}))`],
    ["the end of a loop", `(loop (if (i32.eqz (local.get 0)) (then (local.set 0 (i32.const 1)) (br 1)))) ${long}`],
    ["the head of a loop", `(loop ${long} (if (local.get 0) (then (local.set 0 (i32.const 0)) (br 1))))`],
    [
      "an if that is left itself",
      `(if (i32.const 1) (then (br_if 0 (local.get 0)) (if (i32.const 1) (then)))) ${long}`,
    ],
    [
      "a block around an if that is left",
      `(block (if (i32.const 1) (then (br_if 1 (local.get 0)) (nop))) (nop)) ${long}`,
    ],
    ["the code after unreachable code", `(block (br 0) (loop) ${"drop ".repeat(3)}) ${long}`],
    ["a call", `(call $callee (local.get 0)) ${long}`],
    ["what a call does", "(call $worker)"],
    ["what an indirect call does", "(call_indirect (i32.const 0))"],
  ]

  it.each(joins)("%s", (_, body) => {
    const text = `(module (table 1 funcref) (elem (i32.const 0) func $worker)
      (func $callee (param i32) (if (local.get 0) (then (return))))
      (func $worker ${long})
      (func (export "f") (param i32) ${body}))`
    const admitted = mustAdmit(wat(text))
    for (const path of [0, 1, 2, 3]) {
      const exit = instantiate(admitted).call("f", [path], budget)
      expect(exit.ok).toBe(true)
      expect(exit.fuelUsed).toBeGreaterThanOrEqual(work)
      // Paid once for each time it is done, not for what is not executed.
      expect(exit.fuelUsed).toBeLessThan(2 * work + (body.includes("loop") ? work : 0) + 100)
    }
  })
})

describe("an instance", () => {
  const resets = (functions: string): boolean => {
    const text = `(module (memory 1) (table 2 4 funcref) (elem $e func $f) (data $d "x") ${functions.includes("$f ") ? "" : '(func $f (export "f"))'} ${functions})`
    const instance = instantiate(mustAdmit(wat(text)))
    instance.call("f", [], budget)
    return instance.reset()
  }

  it.each([
    ["table.set", "(table.set (i32.const 0) (ref.null func))"],
    ["table.fill", "(table.fill (i32.const 0) (ref.null func) (i32.const 1))"],
    ["table.copy", "(table.copy (i32.const 0) (i32.const 1) (i32.const 1))"],
    ["table.init", "(table.init $e (i32.const 0) (i32.const 0) (i32.const 1))"],
    ["table.grow", "(drop (table.grow (ref.null func) (i32.const 1)))"],
    ["elem.drop", "(elem.drop $e)"],
    ["data.drop", "(data.drop $d)"],
    ["memory.grow", "(drop (memory.grow (i32.const 1)))"],
    ["a trap", "(unreachable)"],
  ])("is not used again after %s", (_, body) => {
    expect(resets(`(func $f (export "f") ${body})`)).toBe(false)
  })

  it.each([
    ["a vector", "(global (mut v128) (v128.const i64x2 0 0))"],
    ["a reference", "(global (mut funcref) (ref.null func))"],
    ["a NaN", "(global (mut f64) (f64.const nan:0x123))"],
  ])("is not used again when it has a variable that cannot be set back: %s", (_, global) => {
    expect(resets(global)).toBe(false)
  })

  it("is set back: memory, and variables of every number type", () => {
    const text = `(module (memory 1) (data (i32.const 3) "abc")
      (global $a (mut i32) (i32.const -5)) (global $b (mut i64) (i64.const 1234567890123))
      (global $c (mut f32) (f32.const -0.0)) (global $d (mut f64) (f64.const inf))
      (func (export "f") (result i32 i64 f32 f64 i32)
        global.get $a global.get $b global.get $c global.get $d (i32.load (i32.const 3))
        (global.set $a (i32.const 1)) (global.set $b (i64.const 1)) (global.set $c (f32.const 1)) (global.set $d (f64.const 1))
        (memory.fill (i32.const 0) (i32.const 9) (i32.const 65536))))`
    const instance = instantiate(mustAdmit(wat(text)))
    const first = instance.call("f", [], budget)
    expect(instance.call("f", [], budget)).not.toEqual(first)
    expect(instance.reset()).toBe(true)
    expect(instance.call("f", [], budget)).toEqual(first)
  })
})
