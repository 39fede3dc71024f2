/** The bulk operations of WebAssembly 2.0, after the prefix 0xfc: what they name, and what their length costs. */
import { price } from "#runtime/plugin-host/wasm/price.ts"

/** What an index after the opcode names. */
export type Named = "data segment" | "element segment" | "memory" | "table"

export interface BulkOpcode {
  readonly names: ReadonlyArray<Named>
  /** The unit of the length, which is the last operand; `none` where there is no length. */
  readonly length: "bytes" | "elements" | "none"
  readonly pops: number
  readonly pushes: number
  readonly price: number
  /** Does it leave a table or a segment other than it was? */
  readonly changesTables: boolean
}

const operation = (
  names: BulkOpcode["names"],
  length: BulkOpcode["length"],
  changesTables: boolean,
  rest: Partial<BulkOpcode> = {},
): BulkOpcode => ({
  names,
  length,
  changesTables,
  pops: length === "none" ? 0 : 3,
  pushes: 0,
  price: price.bulk,
  ...rest,
})

export const bulkOpcodes: ReadonlyMap<number, BulkOpcode> = new Map([
  [8, operation(["data segment", "memory"], "bytes", false)], // memory.init
  [9, operation(["data segment"], "none", true)], // data.drop
  [10, operation(["memory", "memory"], "bytes", false)], // memory.copy
  [11, operation(["memory"], "bytes", false)], // memory.fill
  [12, operation(["element segment", "table"], "elements", true)], // table.init
  [13, operation(["element segment"], "none", true)], // elem.drop
  [14, operation(["table", "table"], "elements", true)], // table.copy
  [15, operation(["table"], "elements", true, { pops: 2, pushes: 1, price: price.grow })], // table.grow
  [16, operation(["table"], "none", false, { pushes: 1, price: 1 })], // table.size
  [17, operation(["table"], "elements", true)], // table.fill
])
