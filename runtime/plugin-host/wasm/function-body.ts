/**
 * Reads one function body: checks the form of every instruction and every index, and plans the meter.
 * Types of operands are not checked here: the engine validates the module before and after it is rewritten.
 */
import type { Limits } from "#runtime/plugin-host/wasm/limits.ts"
import { MeteringPlan } from "#runtime/plugin-host/wasm/metering-plan.ts"
import type { Body, ParsedModule } from "#runtime/plugin-host/wasm/module.ts"
import { describeOpcode, plainOpcodes, saturatingOpcodes } from "#runtime/plugin-host/wasm/opcodes.ts"
import { bulkOpcodes, type Named } from "#runtime/plugin-host/wasm/opcodes-bulk.ts"
import { simdOpcodes } from "#runtime/plugin-host/wasm/opcodes-simd.ts"
import { price } from "#runtime/plugin-host/wasm/price.ts"
import type { Reader } from "#runtime/plugin-host/wasm/reader.ts"
import { refused } from "#runtime/plugin-host/wasm/refused.ts"
import {
  type FunctionType,
  isValueTypeCode,
  readReferenceType,
  readValueType,
} from "#runtime/plugin-host/wasm/value-type.ts"

/** Alignments above this are flags of later proposals. */
const largestAlignment = 4
const emptyBlock = 0x40

/** Reads the body that fills the reader up to its end. */
export const readBody = (reader: Reader, module: ParsedModule, limits: Limits, type: FunctionType): Body =>
  new BodyReader(reader, module, limits).read(type)

class BodyReader {
  readonly #reader: Reader
  readonly #module: ParsedModule
  readonly #limits: Limits
  #plan = new MeteringPlan(0, 0, 0)
  #localCount = 0
  #vectors: boolean

  constructor(reader: Reader, module: ParsedModule, limits: Limits) {
    this.#reader = reader
    this.#module = module
    this.#limits = limits
    this.#vectors = module.vectors
  }

  read(type: FunctionType): Body {
    const reader = this.#reader
    const localGroupCount = reader.count(this.#limits.locals, "groups of locals")
    const groupsStart = reader.at
    const declared = this.#declaredLocals(localGroupCount)
    const start = reader.at
    this.#localCount = type.params.length + declared
    this.#plan = new MeteringPlan(type.results.length, declared, start)
    while (this.#plan.depth > 0) this.#instruction()
    if (reader.left !== 0) throw reader.malformed("A function goes on after its end")
    return {
      localGroups: reader.bytes.subarray(groupsStart, start),
      localGroupCount,
      localCount: this.#localCount,
      start,
      end: reader.at,
      edits: this.#plan.edits,
      frameBytes: this.#frameBytes(start),
    }
  }

  #declaredLocals(groups: number): number {
    const reader = this.#reader
    const { locals } = this.#limits
    let declared = 0
    for (let group = 0; group < groups; group++) {
      const offset = reader.at
      declared += reader.u32()
      if (declared > locals)
        throw refused("limit", `${declared} locals, at most ${locals} are allowed`, reader.place(offset))
      if (readValueType(reader) === "v128") this.#vectors = true
    }
    return declared
  }

  #frameBytes(start: number): number {
    const bytes = this.#plan.frameBytes(this.#localCount, this.#vectors)
    const most = this.#limits.frameBytes
    if (bytes > most)
      throw refused(
        "limit",
        `It needs up to ${bytes} bytes of stack, at most ${most} are allowed`,
        this.#reader.place(start),
      )
    return bytes
  }

  #instruction() {
    const offset = this.#reader.at
    const code = this.#reader.byte()
    const opcode = plainOpcodes[code]
    if (opcode === undefined) return this.#special(code, offset)
    switch (opcode.immediate) {
      case "none":
        break
      case "memory":
        this.#memoryArgument()
        break
      case "i32":
        this.#reader.skipSigned(32)
        break
      case "i64":
        this.#reader.skipSigned(64)
        break
      case "f32":
        this.#reader.skip(4)
        break
      case "f64":
        this.#reader.skip(8)
        break
    }
    this.#plan.plain(opcode.pops, opcode.pushes, opcode.price)
  }

  #special(code: number, offset: number) {
    const reader = this.#reader
    const module = this.#module
    const plan = this.#plan
    switch (code) {
      case 0x00: // unreachable
      case 0x0f: // return
        return plan.leave(price.branch)
      case 0x02:
        return this.#enter("block")
      case 0x03:
        return this.#enter("loop")
      case 0x04:
        return this.#enter("if")
      case 0x05:
        if (!plan.otherwise(reader.at)) throw reader.malformed("An else without an if", offset)
        return
      case 0x0b:
        return plan.close(reader.at)
      case 0x0c: // br
        this.#label()
        return plan.leave(price.branch)
      case 0x0d: // br_if
        this.#label()
        return plan.plain(1, 0, price.branch)
      case 0x0e: {
        // br_table
        const labels = reader.count(this.#limits.bodyBytes, "labels")
        for (let label = 0; label <= labels; label++) this.#label()
        return plan.leave(price.branchTable)
      }
      case 0x10:
        return this.#call(offset)
      case 0x11:
        return this.#callIndirect(offset)
      case 0x1c: // select with a type
        if (reader.count(1, "types of a select") !== 1) throw reader.malformed("A select without a type", offset)
        readValueType(reader)
        return plan.plain(3, 1, 1)
      case 0x20: // local.get
        this.#index(this.#localCount, "local")
        return plan.plain(0, 1, 1)
      case 0x21: // local.set
        this.#index(this.#localCount, "local")
        return plan.plain(1, 0, 1)
      case 0x22: // local.tee
        this.#index(this.#localCount, "local")
        return plan.plain(1, 1, 1)
      case 0x23: // global.get
        this.#index(module.globals.length, "global")
        return plan.plain(0, 1, 1)
      case 0x24: // global.set
        this.#index(module.globals.length, "global")
        return plan.plain(1, 0, 1)
      case 0x25: // table.get
        this.#index(module.tables.length, "table")
        return plan.plain(1, 1, price.tableElement)
      case 0x26: // table.set
        this.#index(module.tables.length, "table")
        module.changesTables = true
        return plan.plain(2, 0, price.tableElement)
      case 0x3f: // memory.size
        this.#memoryIndex()
        return plan.plain(0, 1, 1)
      case 0x40: // memory.grow
        this.#memoryIndex()
        plan.edit("charge-pages", offset)
        plan.plain(1, 1, price.grow)
        plan.edit("grown", reader.at)
        return
      case 0xd0: // ref.null
        readReferenceType(reader)
        return plan.plain(0, 1, 1)
      case 0xd2:
        return this.#functionReference(offset)
      case 0xfc:
        return this.#prefixed(offset)
      case 0xfd:
        return this.#vector(offset)
      default:
        throw reader.unsupported(`Unknown ${describeOpcode(undefined, code)}`, offset)
    }
  }

  /** After the prefix 0xfc: saturating conversions and bulk operations. */
  #prefixed(offset: number) {
    const code = this.#reader.u32()
    const saturating = saturatingOpcodes[code]
    if (saturating !== undefined) return this.#plan.plain(saturating.pops, saturating.pushes, saturating.price)
    const bulk = bulkOpcodes.get(code)
    if (bulk === undefined) throw this.#reader.unsupported(`Unknown ${describeOpcode(0xfc, code)}`, offset)
    for (const named of bulk.names) this.#named(named)
    if (bulk.changesTables) this.#module.changesTables = true
    if (bulk.length !== "none") this.#plan.edit(`charge-${bulk.length}`, offset)
    this.#plan.plain(bulk.pops, bulk.pushes, bulk.price)
  }

  #named(what: Named) {
    const { dataCount, elements, tables } = this.#module
    switch (what) {
      case "memory":
        return this.#memoryIndex()
      case "table":
        return this.#index(tables.length, what)
      case "element segment":
        return this.#index(elements.length, what)
      case "data segment":
        return this.#index(dataCount ?? 0, what)
    }
  }

  #vector(offset: number) {
    const reader = this.#reader
    const code = reader.u32()
    const opcode = simdOpcodes[code]
    if (opcode === undefined) throw reader.unsupported(`Unknown ${describeOpcode(0xfd, code)}`, offset)
    this.#vectors = true
    switch (opcode.immediate) {
      case "none":
        break
      case "memory":
        this.#memoryArgument()
        break
      case "memory-lane":
        this.#memoryArgument()
        reader.skip(1)
        break
      case "lane":
        reader.skip(1)
        break
      case "constant":
      case "shuffle":
        reader.skip(16)
        break
    }
    this.#plan.plain(opcode.pops, opcode.pushes, opcode.price)
  }

  #index(count: number, what: string): number {
    const offset = this.#reader.at
    const index = this.#reader.u32()
    if (index >= count) throw this.#reader.malformed(`There is no ${what} ${index}`, offset)
    return index
  }

  #memoryIndex(): void {
    if (this.#module.memory === undefined) throw this.#reader.malformed("There is no memory")
    if (this.#reader.byte() !== 0) throw this.#reader.unsupported("A memory other than the first", this.#reader.at - 1)
  }

  #memoryArgument(): void {
    if (this.#module.memory === undefined) throw this.#reader.malformed("There is no memory")
    const offset = this.#reader.at
    const alignment = this.#reader.u32()
    if (alignment > largestAlignment) throw this.#reader.unsupported(`Unknown memory argument ${alignment}`, offset)
    this.#reader.u32()
  }

  #label(): void {
    const offset = this.#reader.at
    const depth = this.#reader.u32()
    if (!this.#plan.branchTo(depth)) throw this.#reader.malformed(`There is no label ${depth}`, offset)
  }

  #enter(kind: "block" | "loop" | "if"): void {
    const { nesting } = this.#limits
    if (this.#plan.depth > nesting)
      throw refused("limit", `Blocks are nested more than ${nesting} deep`, this.#reader.place())
    const [params, results] = this.#blockType()
    this.#plan.enter(kind, params, results, this.#reader.at)
  }

  #blockType(): readonly [params: number, results: number] {
    const reader = this.#reader
    const first = reader.byte()
    if (first === emptyBlock) return [0, 0]
    if (isValueTypeCode(first)) return [0, 1]
    reader.at -= 1
    const type = this.#module.types[this.#index(this.#module.types.length, "type")]
    return [type?.params.length ?? 0, type?.results.length ?? 0]
  }

  #call(offset: number): void {
    const module = this.#module
    const callee = this.#index(module.functions.length, "function")
    const type = module.types[module.functions[callee] ?? -1]
    const imported = module.imports[callee]
    if (imported === undefined) this.#plan.edit("call", offset)
    this.#plan.plain(type?.params.length ?? 0, type?.results.length ?? 0, price.call + (imported?.price ?? 0))
    if (imported === undefined) this.#plan.edit("called", this.#reader.at)
  }

  #callIndirect(offset: number): void {
    const module = this.#module
    const type = module.types[this.#index(module.types.length, "type")]
    this.#index(module.tables.length, "table")
    this.#plan.edit("call", offset)
    this.#plan.plain(1 + (type?.params.length ?? 0), type?.results.length ?? 0, price.callIndirect)
    this.#plan.edit("called", this.#reader.at)
  }

  #functionReference(offset: number): void {
    const module = this.#module
    const index = this.#index(module.functions.length, "function")
    if (index < module.imports.length) {
      module.referencedImports.add(index)
      this.#plan.edit("reference", offset, index, this.#reader.at - offset)
    }
    this.#plan.plain(0, 1, 1)
  }
}
