/**
 * Every instruction that admission knows without special treatment: what follows its opcode, how many
 * operands it takes and leaves, and what it costs. WebAssembly 2.0 is known whole (numeric, reference, bulk
 * memory, multi-value, 128-bit SIMD); what is not in a table is refused.
 *
 * Control instructions, calls and the instructions that name a local, a global, a function or a table are treated in
 * function-body.ts. Prices are in units of fuel, where 1 is about an addition.
 */
import { price } from "#runtime/plugin-host/wasm/price.ts"

export type Immediate = "none" | "memory" | "i32" | "i64" | "f32" | "f64"

export interface Opcode {
  readonly immediate: Immediate
  readonly pops: number
  readonly pushes: number
  readonly price: number
}

type Row = readonly [first: number, last: number, pops: number, pushes: number, price?: number, immediate?: Immediate]

const rows: ReadonlyArray<Row> = [
  [0x01, 0x01, 0, 0], // nop
  [0x1a, 0x1a, 1, 0], // drop
  [0x1b, 0x1b, 3, 1], // select
  [0x28, 0x35, 1, 1, price.memory, "memory"], // loads
  [0x36, 0x3e, 2, 0, price.memory, "memory"], // stores
  [0x41, 0x41, 0, 1, 1, "i32"], // i32.const
  [0x42, 0x42, 0, 1, 1, "i64"], // i64.const
  [0x43, 0x43, 0, 1, 1, "f32"], // f32.const
  [0x44, 0x44, 0, 1, 1, "f64"], // f64.const
  [0x45, 0x45, 1, 1], // i32.eqz
  [0x46, 0x4f, 2, 1], // i32 comparisons
  [0x50, 0x50, 1, 1], // i64.eqz
  [0x51, 0x5a, 2, 1], // i64 comparisons
  [0x5b, 0x66, 2, 1], // f32, f64 comparisons
  [0x67, 0x69, 1, 1], // i32.clz, ctz, popcnt
  [0x6a, 0x6c, 2, 1], // i32.add, sub, mul
  [0x6d, 0x70, 2, 1, price.division], // i32 division and remainder
  [0x71, 0x78, 2, 1], // i32.and … rotr
  [0x79, 0x7b, 1, 1], // i64.clz, ctz, popcnt
  [0x7c, 0x7e, 2, 1], // i64.add, sub, mul
  [0x7f, 0x82, 2, 1, price.division], // i64 division and remainder
  [0x83, 0x8a, 2, 1], // i64.and … rotr
  [0x8b, 0x8c, 1, 1], // f32.abs, neg
  [0x8d, 0x91, 1, 1, price.division], // f32.ceil, floor, trunc, nearest, sqrt
  [0x92, 0x94, 2, 1], // f32.add, sub, mul
  [0x95, 0x97, 2, 1, price.division], // f32.div, min, max
  [0x98, 0x98, 2, 1], // f32.copysign
  [0x99, 0x9a, 1, 1], // f64.abs, neg
  [0x9b, 0x9f, 1, 1, price.division], // f64.ceil, floor, trunc, nearest, sqrt
  [0xa0, 0xa2, 2, 1], // f64.add, sub, mul
  [0xa3, 0xa5, 2, 1, price.division], // f64.div, min, max
  [0xa6, 0xa6, 2, 1], // f64.copysign
  [0xa7, 0xa7, 1, 1], // i32.wrap_i64
  [0xa8, 0xab, 1, 1, price.division], // i32.trunc_f…
  [0xac, 0xad, 1, 1], // i64.extend_i32
  [0xae, 0xb1, 1, 1, price.division], // i64.trunc_f…
  [0xb2, 0xbb, 1, 1, 2], // conversions to f32, f64
  [0xbc, 0xc4, 1, 1], // reinterpretations, sign extension
  [0xd1, 0xd1, 1, 1], // ref.is_null
]

/** After the prefix 0xfc: the saturating conversions. The bulk operations are in opcodes-bulk.ts. */
const saturatingRows: ReadonlyArray<Row> = [[0x00, 0x07, 1, 1, price.division]]

const table = (source: ReadonlyArray<Row>, size: number): ReadonlyArray<Opcode | undefined> => {
  const opcodes: Array<Opcode | undefined> = Array.from({ length: size }, () => undefined)
  for (const [first, last, pops, pushes, cost = 1, immediate = "none"] of source)
    for (let code = first; code <= last; code++) opcodes[code] = { immediate, pops, pushes, price: cost }
  return opcodes
}

export const plainOpcodes = table(rows, 256)
export const saturatingOpcodes = table(saturatingRows, 8)

/** The proposal that an opcode belongs to, where it is one that admission refuses by choice. */
export const refusedFeature = (prefix: number | undefined, code: number): string | undefined => {
  if (prefix === 0xfd) return code >= 0x100 ? "relaxed SIMD" : undefined
  if (prefix !== undefined) return undefined
  if (code === 0xfb) return "garbage collection"
  if (code === 0xfe) return "threads"
  if ((code >= 0x06 && code <= 0x0a) || code === 0x18 || code === 0x19 || code === 0x1f) return "exceptions"
  if (code === 0x12 || code === 0x13) return "tail calls"
  if (code === 0x14 || code === 0x15 || (code >= 0xd3 && code <= 0xd6)) return "typed function references"
  return undefined
}

export const describeOpcode = (prefix: number | undefined, code: number): string => {
  const digits = code.toString(16).padStart(2, "0")
  const feature = refusedFeature(prefix, code)
  const name = prefix === undefined ? `0x${digits}` : `0x${prefix.toString(16)} 0x${digits}`
  return feature === undefined ? `opcode ${name}` : `opcode ${name} (${feature})`
}
