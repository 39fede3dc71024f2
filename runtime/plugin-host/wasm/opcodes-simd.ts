/** The 128-bit SIMD instructions of WebAssembly 2.0, after the prefix 0xfd. Relaxed SIMD is not deterministic, and not here. */
import { price } from "#runtime/plugin-host/wasm/price.ts"

export type SimdImmediate = "none" | "memory" | "memory-lane" | "lane" | "constant" | "shuffle"

export interface SimdOpcode {
  readonly immediate: SimdImmediate
  readonly pops: number
  readonly pushes: number
  readonly price: number
}

const opcodes: Array<SimdOpcode | undefined> = Array.from({ length: 256 }, () => undefined)

const put = (first: number, last: number, pops: number, pushes: number, immediate: SimdImmediate = "none"): void => {
  const cost = immediate.startsWith("memory") ? price.memory : immediate === "none" ? price.vector : 1
  for (let code = first; code <= last; code++) opcodes[code] = { immediate, pops, pushes, price: cost }
}

const unary = (first: number, last = first): void => put(first, last, 1, 1)
const binary = (first: number, last = first): void => put(first, last, 2, 1)

put(0x00, 0x0a, 1, 1, "memory") // v128.load, extending and splatting loads
put(0x0b, 0x0b, 2, 0, "memory") // v128.store
put(0x0c, 0x0c, 0, 1, "constant")
put(0x0d, 0x0d, 2, 1, "shuffle")
binary(0x0e) // i8x16.swizzle
unary(0x0f, 0x14) // splats
for (const extract of [0x15, 0x16, 0x18, 0x19, 0x1b, 0x1d, 0x1f, 0x21]) put(extract, extract, 1, 1, "lane")
for (const replace of [0x17, 0x1a, 0x1c, 0x1e, 0x20, 0x22]) put(replace, replace, 2, 1, "lane")
binary(0x23, 0x4c) // comparisons
unary(0x4d) // v128.not
binary(0x4e, 0x51) // and, andnot, or, xor
put(0x52, 0x52, 3, 1) // v128.bitselect
unary(0x53) // v128.any_true
put(0x54, 0x57, 2, 1, "memory-lane") // loads of one lane
put(0x58, 0x5b, 2, 0, "memory-lane") // stores of one lane
put(0x5c, 0x5d, 1, 1, "memory") // v128.load32_zero, load64_zero
unary(0x5e, 0x5f) // demote, promote
// i8x16, and the rounding of f32x4 and f64x2
unary(0x60, 0x64)
binary(0x65, 0x66)
unary(0x67, 0x6a)
binary(0x6b, 0x73)
unary(0x74, 0x75)
binary(0x76, 0x79)
unary(0x7a)
binary(0x7b)
// i16x8
unary(0x7c, 0x81)
binary(0x82)
unary(0x83, 0x84)
binary(0x85, 0x86)
unary(0x87, 0x8a)
binary(0x8b, 0x93)
unary(0x94)
binary(0x95, 0x99)
binary(0x9b, 0x9f)
// i32x4
unary(0xa0, 0xa1)
unary(0xa3, 0xa4)
unary(0xa7, 0xaa)
binary(0xab, 0xae)
binary(0xb1)
binary(0xb5, 0xba)
binary(0xbc, 0xbf)
// i64x2
unary(0xc0, 0xc1)
unary(0xc3, 0xc4)
unary(0xc7, 0xca)
binary(0xcb, 0xce)
binary(0xd1)
binary(0xd5, 0xdf)
// f32x4, f64x2
unary(0xe0, 0xe1)
unary(0xe3)
binary(0xe4, 0xeb)
unary(0xec, 0xed)
unary(0xef)
binary(0xf0, 0xf7)
unary(0xf8, 0xff) // conversions

export const simdOpcodes: ReadonlyArray<SimdOpcode | undefined> = opcodes
