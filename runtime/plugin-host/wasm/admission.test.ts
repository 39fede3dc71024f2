import { describe, expect, it } from "vitest"
import { admissionKey } from "#runtime/plugin-host/wasm/admission.ts"
import type { Grant } from "#runtime/plugin-host/wasm/grants.ts"
import { defaultStackBytes } from "#runtime/plugin-host/wasm/instance.ts"
import { defaultLimits, type Limits } from "#runtime/plugin-host/wasm/limits.ts"
import { around, binary, section } from "#test/fixtures/wasm/binary.ts"
import { instantiate, mustAdmit, mustRefuse } from "#test/fixtures/wasm/support.ts"
import { wat } from "#test/fixtures/wasm/wat.ts"

const host: Grant = { module: "env", name: "host", params: ["i32"], results: ["i32"] }
const budget = { fuel: 1_000_000, stackBytes: defaultStackBytes }

describe("imports", () => {
  it("are refused when they are not granted, by their name", () => {
    const refusal = mustRefuse(
      wat('(module (import "wasi_snapshot_preview1" "fd_write" (func (param i32) (result i32))))'),
    )
    expect(refusal.reason).toBe("import_not_granted")
    expect(refusal.import).toBe("wasi_snapshot_preview1.fd_write")
    expect(refusal.message).toContain("wasi_snapshot_preview1.fd_write")
  })

  it("are refused when they are granted with another signature, naming both", () => {
    const refusal = mustRefuse(wat('(module (import "env" "host" (func (param i64) (result i32))))'), [host])
    expect(refusal.reason).toBe("import_type")
    expect(refusal.message).toContain("(i64) -> (i32)")
    expect(refusal.message).toContain("(i32) -> (i32)")
  })

  it.each([
    ["memory", "(memory 1)"],
    ["table", "(table 1 funcref)"],
    ["global", "(global i32)"],
  ])("are refused when they are a %s", (kind, what) => {
    const refusal = mustRefuse(wat(`(module (import "env" "host" ${what}))`), [host])
    expect(refusal.reason).toBe("import_not_granted")
    expect(refusal.message).toContain(`${kind} env.host`)
  })

  it("are refused all together when none is granted, the first one named", () => {
    const text = ["fs", "net", "clock"].map((name) => `(import "env" "${name}" (func))`).join("\n")
    expect(mustRefuse(wat(`(module ${text})`)).import).toBe("env.fs")
  })

  it("are found by whole names only: dots do not make one of two", () => {
    expect(mustRefuse(wat('(module (import "env.host" "" (func (param i32) (result i32))))'), [host]).reason).toBe(
      "import_not_granted",
    )
  })

  it("see no prototype of the object they come from", () => {
    const inherited = { module: "env", name: "toString", params: [], results: [] } as const
    const admitted = mustAdmit(wat('(module (import "env" "toString" (func)))'), [inherited])
    expect(() => instantiate(admitted)).toThrow("nothing implements the import env.toString")
  })
})

describe("a module", () => {
  const refusedForms: ReadonlyArray<readonly [what: string, text: string, message: RegExp]> = [
    ["shared memory", "(memory 1 2 shared)", /shared memory/],
    ["64-bit memory", "(memory i64 1)", /64-bit addresses/],
    ["tags of exceptions", "(tag (param i32))", /Unknown section 13/],
    ["tail calls", "(func $f (return_call $f))", /0x12 \(tail calls\)/],
    ["exceptions", "(tag $t) (func (throw $t))", /Unknown section 13/],
    ["atomics", "(memory 1) (func (drop (i32.atomic.load (i32.const 0))))", /0xfe \(threads\)/],
    [
      "relaxed SIMD",
      "(func (param v128 v128) (drop (i8x16.relaxed_swizzle (local.get 0) (local.get 1))))",
      /0xfd 0x100 \(relaxed SIMD\)/,
    ],
  ]

  it.each(refusedForms)("is refused for %s", (_, text, message) => {
    const refusal = mustRefuse(wat(`(module ${text})`))
    expect(refusal.message).toMatch(message)
    expect(refusal.reason).toBe("unsupported")
    expect(refusal.offset).toBeGreaterThan(7)
  })

  it("is refused for a second memory", () => {
    expect(mustRefuse(binary(section(5, [2, 0, 1, 0, 1]))).message).toMatch(/2 memories, at most one/)
  })

  it("is refused when it exports a name of the host's own", () => {
    expect(mustRefuse(wat('(module (global (export "svc:fuel") (mut i64) (i64.const 0)))')).reason).toBe(
      "reserved_name",
    )
  })

  it.each([
    ["a global of the meter", '(module (func (export "f") (global.set 0 (i64.const 1000000))))', /no global 0/],
    ["a local of the meter", '(module (func (export "f") (local.set 0 (i64.const 0))))', /no local 0/],
    ["a function that is not there", '(module (func (export "f") (call 1)))', /no function 1/],
    [
      "a type that is not there",
      "(module (table 1 funcref) (func (call_indirect (type 9) (i32.const 0))))",
      /no type 9/,
    ],
  ])("cannot name %s", (_, text, message) => {
    const refusal = mustRefuse(wat(text))
    expect(refusal.reason).toBe("malformed")
    expect(refusal.message).toMatch(message)
  })

  it("is refused when the engine finds it invalid, with the engine's words", () => {
    const refusal = mustRefuse(wat('(module (func (export "f") (result i32) (i64.const 1)))'))
    expect(refusal.reason).toBe("invalid")
    expect(refusal.message).toMatch(/expected i32, got i64/)
  })

  it("has its maximum of memory clamped, so that growing beyond is refused", () => {
    const admitted = mustAdmit(
      wat('(module (memory 1) (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))'),
      [],
      { memoryPages: 4 },
    )
    expect(admitted.memoryPages).toBe(4)
    const instance = instantiate(admitted)
    const answers = [2, 1, 1, 65_535, -1].map((pages) => instance.call("grow", [pages], budget))
    expect(answers.map((exit) => exit.ok && exit.value)).toEqual([1, 3, -1, -1, -1])
    expect(instance.memory?.length).toBe(4 * 65_536)
  })

  it("keeps a maximum of memory that is below the limit", () => {
    expect(mustAdmit(wat("(module (memory 1 3))")).memoryPages).toBe(3)
  })

  it("needs no memory", () => {
    const admitted = mustAdmit(wat('(module (func (export "f") (result i32) (i32.const 7)))'))
    expect(admitted.memoryPages).toBe(0)
    expect(instantiate(admitted).call("f", [], budget)).toMatchObject({ ok: true, value: 7 })
  })

  it("has its tables clamped", () => {
    const text = `(module (table 1 funcref)
      (func (export "grow") (param i32) (result i32) (table.grow (ref.null func) (local.get 0))))`
    const instance = instantiate(mustAdmit(wat(text), [], { tableElements: 10 }))
    expect(instance.call("grow", [9], budget)).toMatchObject({ value: 1 })
    expect(instance.call("grow", [1], budget)).toMatchObject({ value: -1 })
  })

  it("tells its exports with their types, its digest and its imports", () => {
    const bytes = wat(
      '(module (import "env" "host" (func (param i32) (result i32))) (memory (export "m") 1) (export "h" (func 0)))',
    )
    const admitted = mustAdmit(bytes, [host])
    expect(admitted.sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(admitted.imports).toEqual([{ module: "env", name: "host" }])
    expect(admitted.exports).toEqual([
      { name: "m", kind: "memory" },
      { name: "h", kind: "function", type: { params: ["i32"], results: ["i32"] } },
    ])
  })

  it("is admitted alike every time, and differently for other limits or grants", () => {
    const bytes = wat("(module (memory 1))")
    const first = mustAdmit(bytes)
    expect(mustAdmit(bytes)).toEqual(first)
    const key = admissionKey(first.sha256, defaultLimits, [host])
    expect(admissionKey(first.sha256, { ...defaultLimits }, [{ ...host }])).toBe(key)
    expect(admissionKey(first.sha256, { ...defaultLimits, memoryPages: 1 }, [host])).not.toBe(key)
    expect(admissionKey(first.sha256, defaultLimits, [])).not.toBe(key)
  })

  it("loses its custom sections", () => {
    const bytes = wat("(module (func $named (nop)))")
    expect(Buffer.from(bytes).includes("named")).toBe(true)
    expect(Buffer.from(mustAdmit(bytes).wasm).includes("named")).toBe(false)
  })
})

describe("what is too large", () => {
  const many = (count: number, text: (index: number) => string): string =>
    `(module ${Array.from({ length: count }, (_, index) => text(index)).join("\n")})`

  const cases: ReadonlyArray<readonly [what: string, text: string, limits: Partial<Limits>]> = [
    ["a module", many(20, () => "(func)"), { moduleBytes: 50 }],
    ["memory from the start", "(module (memory 300))", {}],
    ["a table from the start", "(module (table 50000 funcref))", {}],
    ["many tables", many(5, () => "(table 1 funcref)"), {}],
    ["many types", many(11, (index) => `(type (func (param ${"i32 ".repeat(index)})))`), { types: 10 }],
    ["many functions", many(11, () => "(func)"), { functions: 10 }],
    ["many globals", many(11, () => "(global i32 (i32.const 0))"), { globals: 10 }],
    [
      "many exports",
      `(module (func) ${many(11, (index) => `(export "f${index}" (func 0))`).slice(8)}`,
      { exports: 10 },
    ],
    ["many imports", many(11, () => '(import "env" "host" (func (param i32) (result i32)))'), { imports: 10 }],
    ["many segments of elements", many(11, () => "(elem func)"), { elementSegments: 10 }],
    ["many elements", `(module (func $f) (elem func ${"$f ".repeat(11)}))`, { segmentElements: 10 }],
    ["many segments of data", `(module (memory 1) ${'(data "x")'.repeat(11)})`, { dataSegments: 10 }],
    ["many parameters", `(module (func (param ${"i32 ".repeat(200)})))`, {}],
    ["many results", `(module (type (func (result ${"i32 ".repeat(100)}))))`, {}],
    ["many locals", `(module (func (local ${"i32 ".repeat(5_000)})))`, {}],
    ["a long body", `(module (func ${"(nop)".repeat(200)}))`, { bodyBytes: 100 }],
    ["an operand stack", `(module (func ${"i32.const 0 ".repeat(5_000)} ${"drop ".repeat(5_000)}))`, {}],
    ["a long constant", `(module (global i32 i32.const 1 ${"i32.const 1 i32.add ".repeat(80)}))`, {}],
    ["a long name", `(module (func (export "${"x".repeat(300)}")))`, {}],
  ]

  it.each(cases)("is refused: %s", (_, text, limits) => {
    expect(mustRefuse(wat(text), [host], limits).reason).toBe("limit")
  })

  it("is refused: deep nesting, which takes no stack of the host's to find out", () => {
    const nested = (depth: number) =>
      around(
        Array.from({ length: depth }, () => [0x02, 0x40])
          .flat()
          .concat(Array(depth).fill(0x0b)),
      )
    expect(mustRefuse(nested(3_000)).reason).toBe("limit")
    expect(mustRefuse(nested(100_000)).reason).toBe("limit")
    expect(mustAdmit(nested(2_000)).exports).toHaveLength(1)
  })

  it("is refused before anything is allocated for it: 4,000,000,000 locals in ten bytes", () => {
    const body = [1, 0x80, 0x94, 0xeb, 0xdc, 0x0e, 0x7f, 0x0b]
    const bytes = binary(section(1, [1, 0x60, 0, 0]), section(3, [1, 0]), section(10, [1, body.length, ...body]))
    expect(mustRefuse(bytes)).toMatchObject({ reason: "limit", functionIndex: 0 })
  })
})
