/** Every opcode that there can be, against the engine: admission knows all of WebAssembly 2.0 and nothing else. */
import { describe, expect, it } from "vitest"
import { AdmissionRefused } from "#runtime/plugin-host/wasm/refused.ts"
import { Writer } from "#runtime/plugin-host/wasm/writer.ts"
import { around } from "#test/fixtures/wasm/binary.ts"
import { tryAdmit } from "#test/fixtures/wasm/support.ts"

/** What may follow an opcode. */
const immediates: ReadonlyArray<ReadonlyArray<number>> = [
  [],
  [0],
  [0, 0],
  [0, 0, 0],
  [1, 0x7f], // a vector of types
  [0x70], // a reference type
  Array.from({ length: 4 }, () => 0),
  Array.from({ length: 8 }, () => 0),
  Array.from({ length: 16 }, () => 0),
  [2, 0], // the alignment that atomic operations want
  [3, 0],
  [1, 0],
  [0x40, 0x0b], // a block
  [0x40, 0, 0x0b],
  [0x40, 0x05, 0x0b],
]

const leb = (value: number): ReadonlyArray<number> => {
  const writer = new Writer()
  writer.u32(value)
  return [...writer.written]
}

/** After `unreachable`, whatever operands an instruction takes are there. */
const forms = (opcode: ReadonlyArray<number>) =>
  immediates.map((immediate) => around([0x00, ...opcode, ...immediate, 0x00]))

const refusalOf = (bytes: Uint8Array): AdmissionRefused | undefined => {
  const admitted = tryAdmit(bytes)
  return admitted instanceof AdmissionRefused ? admitted : undefined
}

const isAdmitted = (opcode: ReadonlyArray<number>): boolean =>
  forms(opcode).some((bytes) => refusalOf(bytes) === undefined)

const isKnownToEngine = (opcode: ReadonlyArray<number>): boolean =>
  forms(opcode).some((bytes) => WebAssembly.validate(bytes))

const range = (first: number, last: number): ReadonlyArray<number> =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)

/** What WebAssembly 2.0 has, by the index of instructions of its specification. `else` needs an `if`. */
const plain = [
  ...[...range(0x00, 0x04), ...range(0x0b, 0x11), ...range(0x1a, 0x1c), ...range(0x20, 0x26)],
  ...[...range(0x28, 0xc4), ...range(0xd0, 0xd2)],
]
const bulk = range(0, 17)
const simdGaps = [0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6]
const moreSimdGaps = [0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee]
const simd = range(0, 0xff).filter((code) => !simdGaps.includes(code) && !moreSimdGaps.includes(code))

describe("admission", () => {
  it("knows every instruction of WebAssembly 2.0", () => {
    const unknown = [
      ...plain.filter((code) => code !== 0x0b && !isAdmitted([code])),
      ...bulk.filter((code) => !isAdmitted([0xfc, code])).map((code) => 0xfc00 + code),
      ...simd.filter((code) => !isAdmitted([0xfd, ...leb(code)])).map((code) => 0xfd00 + code),
    ]
    expect(unknown).toEqual([])
  })

  it("refuses every other opcode, naming it and the function it is in", () => {
    const others = [
      ...range(0, 0xff)
        .filter((code) => ![...plain, 0x01, 0x05, 0xfc, 0xfd].includes(code))
        .map((code) => [code]),
      ...range(18, 40).map((code) => [0xfc, ...leb(code)]),
      ...[...simdGaps, ...moreSimdGaps, ...range(0x100, 0x130)].map((code) => [0xfd, ...leb(code)]),
    ]
    for (const opcode of others) {
      const refusal = refusalOf(around([0x00, ...opcode, 0, 0, 0, 0]))
      expect(refusal?.reason, String(opcode)).toBe("unsupported")
      expect(refusal?.functionIndex).toBe(0)
      expect(refusal?.message).toContain(`opcode 0x${(opcode[0] ?? 0).toString(16).padStart(2, "0")}`)
    }
  })

  it("names the proposal of what the engine knows and admission does not", () => {
    const beyond = [
      ...range(0, 0xfa).map((code) => [code]),
      ...range(0, 0x120).map((code) => [0xfd, ...leb(code)]),
      ...range(0, 0x4e).map((code) => [0xfe, ...leb(code)]),
    ].filter((opcode) => isKnownToEngine(opcode) && !isAdmitted(opcode) && opcode[0] !== 0x0b)
    expect(beyond.length).toBeGreaterThan(60)
    for (const opcode of beyond) {
      const refusal = refusalOf(around([0x00, ...opcode, 0x40, 0, 0, 0]))
      expect(refusal?.message, String(opcode)).toMatch(
        /\((threads|exceptions|tail calls|typed function references|relaxed SIMD)\)/,
      )
    }
  })

  it("admits no form of an instruction that the engine does not accept", () => {
    for (const code of [...plain, 0xfc, 0xfd])
      for (const bytes of forms([code]))
        if (refusalOf(bytes) === undefined) expect(WebAssembly.validate(bytes)).toBe(true)
  })
})
