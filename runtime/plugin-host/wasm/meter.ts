/**
 * Writes a function body with its meter. The globals of the meter stand behind those of the module, and the two
 * locals that it needs behind those of the function, so that no index of the module ever changes.
 */
import type { Edit } from "#runtime/plugin-host/wasm/metering-plan.ts"
import type { Body } from "#runtime/plugin-host/wasm/module.ts"
import { price } from "#runtime/plugin-host/wasm/price.ts"
import { valueTypeCodes } from "#runtime/plugin-host/wasm/value-type.ts"
import type { Writer } from "#runtime/plugin-host/wasm/writer.ts"

/** Where the rewriting puts what the meter needs. */
export interface Layout {
  /** Indexes of the globals of the meter. */
  readonly fuel: number
  readonly stack: number
  readonly growthRefused: number
  /** The most pages the memory can grow to. */
  readonly memoryPages: number
  /** The function that stands in for an imported one wherever it is not called directly. */
  readonly standIn: (importedFunction: number) => number
}

const op = {
  unreachable: 0x00,
  if: 0x04,
  end: 0x0b,
  call: 0x10,
  select: 0x1b,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  i32Const: 0x41,
  i64Const: 0x42,
  i32Eq: 0x46,
  i32LessThan: 0x48,
  i32LessThanUnsigned: 0x49,
  i64LessThan: 0x53,
  i32Add: 0x6a,
  i32Subtract: 0x6b,
  i64Subtract: 0x7d,
  i64Multiply: 0x7e,
  i64ShiftRightUnsigned: 0x88,
  i64ExtendUnsigned: 0xad,
  referenceFunction: 0xd2,
} as const
const noResult = 0x40

export const writeBody = (writer: Writer, source: Uint8Array, body: Body, layout: Layout): void => {
  writer.u32(body.localGroupCount + 2)
  writer.raw(body.localGroups)
  writer.raw([1, valueTypeCodes.i64, 1, valueTypeCodes.i32])
  const meter = new Meter(writer, layout, body.localCount)
  let at = body.start
  for (const edit of body.edits) {
    writer.raw(source.subarray(at, edit.at))
    meter.write(edit, body.frameBytes)
    at = edit.at + edit.skip
  }
  writer.raw(source.subarray(at, body.end))
}

/** A function that pays for an imported one and calls it. */
export const writeStandIn = (writer: Writer, imported: number, cost: number, params: number, layout: Layout): void => {
  writer.u32(1)
  writer.raw([1, valueTypeCodes.i64])
  new Meter(writer, layout, params).charge(cost)
  for (let param = 0; param < params; param++) {
    writer.byte(op.localGet)
    writer.u32(param)
  }
  writer.byte(op.call)
  writer.u32(imported)
  writer.byte(op.end)
}

class Meter {
  readonly #writer: Writer
  readonly #layout: Layout
  /** A local of 64 bits, and one of 32 bits. */
  readonly #wide: number
  readonly #narrow: number

  constructor(writer: Writer, layout: Layout, localCount: number) {
    this.#writer = writer
    this.#layout = layout
    this.#wide = localCount
    this.#narrow = localCount + 1
  }

  write(edit: Edit, frameBytes: number) {
    switch (edit.kind) {
      case "charge":
        if (edit.amount > 0) this.charge(edit.amount)
        return
      case "charge-bytes":
        return this.#chargeOperand(() => {
          this.#constant(op.i64Const, price.bulkBytesShift)
          this.#writer.byte(op.i64ShiftRightUnsigned)
        })
      case "charge-elements":
        return this.#chargeOperand(() => this.#times(price.tableBulkElement))
      case "charge-pages":
        return this.#chargePages()
      case "call":
        return this.#takeFrame(frameBytes)
      case "called":
        return this.#giveFrame(frameBytes)
      case "grown":
        return this.#noteGrowth()
      case "reference":
        return this.#named(op.referenceFunction, this.#layout.standIn(edit.amount))
    }
  }

  /** fuel := fuel - amount; trap when it is below zero. */
  charge(amount: number): void {
    this.#named(op.globalGet, this.#layout.fuel)
    this.#constant(op.i64Const, amount)
    this.#take()
  }

  /** fuel := fuel - f(operand), where the operand stays on the stack. */
  #chargeOperand(cost: () => void): void {
    this.#named(op.localSet, this.#narrow)
    this.#named(op.globalGet, this.#layout.fuel)
    this.#named(op.localGet, this.#narrow)
    this.#writer.byte(op.i64ExtendUnsigned)
    cost()
    this.#take()
    this.#named(op.localGet, this.#narrow)
  }

  /** As `chargeOperand`, where more pages than there can be cost no more: growing by them is refused at once. */
  #chargePages(): void {
    this.#named(op.localSet, this.#narrow)
    this.#named(op.globalGet, this.#layout.fuel)
    this.#named(op.localGet, this.#narrow)
    this.#constant(op.i32Const, this.#layout.memoryPages)
    this.#named(op.localGet, this.#narrow)
    this.#constant(op.i32Const, this.#layout.memoryPages)
    this.#writer.raw([op.i32LessThanUnsigned, op.select, op.i64ExtendUnsigned])
    this.#times(price.growPage)
    this.#take()
    this.#named(op.localGet, this.#narrow)
  }

  #times(factor: number): void {
    this.#constant(op.i64Const, factor)
    this.#writer.byte(op.i64Multiply)
  }

  /** Operands: the fuel, and what to take of it. */
  #take(): void {
    this.#writer.byte(op.i64Subtract)
    this.#named(op.localTee, this.#wide)
    this.#named(op.globalSet, this.#layout.fuel)
    this.#named(op.localGet, this.#wide)
    this.#constant(op.i64Const, 0)
    this.#writer.raw([op.i64LessThan, op.if, noResult, op.unreachable, op.end])
  }

  #takeFrame(bytes: number): void {
    this.#named(op.globalGet, this.#layout.stack)
    this.#constant(op.i32Const, bytes)
    this.#writer.byte(op.i32Subtract)
    this.#named(op.localTee, this.#narrow)
    this.#named(op.globalSet, this.#layout.stack)
    this.#named(op.localGet, this.#narrow)
    this.#constant(op.i32Const, 0)
    this.#writer.raw([op.i32LessThan, op.if, noResult, op.unreachable, op.end])
  }

  #giveFrame(bytes: number): void {
    this.#named(op.globalGet, this.#layout.stack)
    this.#constant(op.i32Const, bytes)
    this.#writer.byte(op.i32Add)
    this.#named(op.globalSet, this.#layout.stack)
  }

  /** Operand: what `memory.grow` answered, -1 for a refusal. It stays. */
  #noteGrowth(): void {
    this.#named(op.localTee, this.#narrow)
    this.#constant(op.i32Const, -1)
    this.#writer.raw([op.i32Eq, op.if, noResult])
    this.#constant(op.i32Const, 1)
    this.#named(op.globalSet, this.#layout.growthRefused)
    this.#writer.byte(op.end)
    this.#named(op.localGet, this.#narrow)
  }

  #named(opcode: number, index: number): void {
    this.#writer.byte(opcode)
    this.#writer.u32(index)
  }

  #constant(opcode: number, value: number): void {
    this.#writer.byte(opcode)
    this.#writer.signed(value)
  }
}
