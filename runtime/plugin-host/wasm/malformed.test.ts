/** Binaries that lie, end too early or are encoded in forbidden ways: refused, at once, with the place. */
import { describe, expect, it } from "vitest"
import { AdmissionRefused } from "#runtime/plugin-host/wasm/refused.ts"
import { around, binary, header, section } from "#test/fixtures/wasm/binary.ts"
import { mustAdmit, mustRefuse, tryAdmit } from "#test/fixtures/wasm/support.ts"

const types = section(1, [1, 0x60, 0, 0])
const oneFunction = (...body: ReadonlyArray<number>): Uint8Array =>
  binary(types, section(3, [1, 0]), section(10, [1, body.length + 2, 0, ...body, 0x0b]))

describe("a binary is refused", () => {
  const cases: ReadonlyArray<readonly [what: string, bytes: Uint8Array]> = [
    ["that is empty", new Uint8Array()],
    ["that is text", new TextEncoder().encode("(module)")],
    ["of another version", Uint8Array.from([...header.slice(0, 4), 2, 0, 0, 0])],
    ["that is a component", Uint8Array.from([...header.slice(0, 4), 0x0d, 0, 1, 0])],
    ["with a section longer than it", binary([1, 100, 1])],
    ["with a section that is cut", binary([1])],
    ["with a section that it has read before its end", binary(section(1, [1, 0x60, 0, 0, 0]))],
    ["with a section that ends within its content", binary(section(1, [2, 0x60, 0, 0]))],
    ["with an unknown section", binary(section(14, [0]))],
    ["with a section twice", binary(types, types)],
    ["with sections out of order", binary(section(3, [0]), types)],
    ["with a data count behind the code", binary(types, section(3, [0]), section(10, [0]), section(12, [0]))],
    ["with functions and no code", binary(types, section(3, [1, 0]))],
    ["with code and no functions", binary(types, section(10, [1, 2, 0, 0x0b]))],
    ["with fewer data segments than it says", binary(section(5, [1, 0, 1]), section(12, [2]), section(11, [1, 1, 0]))],
    ["with a body longer than the section", binary(types, section(3, [1, 0]), section(10, [1, 9, 0, 0x0b]))],
    ["with a body that goes on after its end", oneFunction(0x0b)],
    ["with a body that does not end", binary(types, section(3, [1, 0]), section(10, [1, 2, 0, 0x01]))],
    ["with an else of no if", oneFunction(0x05)],
    ["with a branch to nowhere", oneFunction(0x0c, 1)],
    ["with a branch table of 4,000,000,000 labels", oneFunction(0x0e, 0x80, 0x94, 0xeb, 0xdc, 0x0e, 0)],
    ["with 4,000,000,000 types", binary(section(1, [0x80, 0x94, 0xeb, 0xdc, 0x0e]))],
    ["with more types than bytes", binary(section(1, [0x64, 0x60]))],
    ["with a name that is not UTF-8", binary(types, section(2, [1, 1, 0xff, 1, 0x61, 0, 0]))],
    ["with a name longer than the rest", binary(types, section(2, [1, 0x7f, 0x61]))],
    ["with an unknown kind of import", binary(types, section(2, [1, 1, 0x61, 1, 0x61, 9, 0]))],
    ["with an unknown kind of export", binary(types, section(7, [1, 1, 0x61, 9, 0]))],
    ["with an unknown value type", binary(section(1, [1, 0x60, 1, 0x10, 0]))],
    ["with a form of type that is no function", binary(section(1, [1, 0x5f, 0]))],
    ["with a maximum below the minimum", binary(section(5, [1, 1, 2, 1]))],
    ["with unknown flags of a memory", binary(section(5, [1, 8, 1]))],
    ["with a table of a reference to a type", binary(types, section(4, [1, 0x64, 0, 0, 1]))],
    ["with an initialised table", binary(types, section(4, [1, 0x40, 0, 0x70, 0, 1, 0xd0, 0x70, 0x0b]))],
    ["with unknown mutability", binary(section(6, [1, 0x7f, 2, 0x41, 0, 0x0b]))],
    ["with an opcode that is no constant in one", binary(section(6, [1, 0x7f, 0, 0x41, 0, 0x45, 0x0b]))],
    ["with a constant of a later global", binary(section(6, [1, 0x7f, 0, 0x23, 0, 0x0b]))],
    ["with an unknown form of element segment", binary(section(9, [1, 8, 0]))],
    ["with an unknown form of data segment", binary(section(11, [1, 3, 0]))],
    ["with data and no memory", binary(section(11, [1, 0, 0x41, 0, 0x0b, 0]))],
    ["with a memory argument of a second memory", around([0x41, 0, 0x28, 0x42, 1, 0, 0x1a])],
    ["with memory.size of a second memory", around([0x3f, 1, 0x1a])],
    ["with an integer of six bytes", binary([1, 0x84, 0x80, 0x80, 0x80, 0x80, 0x00, 1, 0x60, 0, 0])],
    ["with an integer of more than 32 bits", binary([1, 0x84, 0x80, 0x80, 0x80, 0x10, 1, 0x60, 0, 0])],
    ["with a 32-bit constant of six bytes", oneFunction(0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0x1a)],
    ["with a 32-bit constant of more bits", oneFunction(0x41, 0x80, 0x80, 0x80, 0x80, 0x10, 0x1a)],
    ["with a 32-bit constant whose sign is not one", oneFunction(0x41, 0x80, 0x80, 0x80, 0x80, 0x48, 0x1a)],
    ["with a 64-bit constant of eleven bytes", oneFunction(0x42, ...Array(10).fill(0x80), 0x00, 0x1a)],
    ["with a 64-bit constant of more bits", oneFunction(0x42, ...Array(9).fill(0x80), 0x02, 0x1a)],
  ]

  it.each(cases)("%s", (_, bytes) => {
    const refusal = mustRefuse(bytes)
    expect(refusal.message.length).toBeGreaterThan(10)
    expect(["malformed", "unsupported", "limit", "import_not_granted"]).toContain(refusal.reason)
    expect(WebAssembly.validate(bytes) && refusal.reason === "malformed").toBe(false)
  })
})

describe("an integer", () => {
  it("may be longer than it needs to be, where the specification says so", () => {
    mustAdmit(binary([1, 0x84, 0x80, 0x00, 1, 0x60, 0, 0]))
    mustAdmit(oneFunction(0x41, 0x80, 0x80, 0x80, 0x80, 0x00, 0x1a))
    mustAdmit(oneFunction(0x41, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x1a))
    mustAdmit(oneFunction(0x42, ...Array(9).fill(0xff), 0x7f, 0x1a))
    mustAdmit(oneFunction(0x42, ...Array(9).fill(0x80), 0x7f, 0x1a))
  })

  it("is read as the engine reads it: admission accepts no encoding that the engine refuses", () => {
    for (let last = 0; last < 256; last++) {
      for (const bytes of [
        oneFunction(0x41, 0xff, 0xff, 0xff, 0xff, last, 0x1a),
        oneFunction(0x41, 0x80, 0x80, 0x80, 0x80, last, 0x1a),
        oneFunction(0x42, ...Array(9).fill(0xff), last, 0x1a),
        oneFunction(0x42, ...Array(9).fill(0x80), last, 0x1a),
        binary([1, 0x84, 0x80, 0x80, 0x80, last, 1, 0x60, 0, 0]),
      ]) {
        const admitted = !(tryAdmit(bytes) instanceof AdmissionRefused)
        expect(admitted).toBe(WebAssembly.validate(bytes))
      }
    }
  })
})

it("a module of nothing is admitted", () => {
  expect(mustAdmit(binary()).exports).toEqual([])
})
