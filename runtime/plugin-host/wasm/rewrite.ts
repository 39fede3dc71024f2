/**
 * Writes a parsed module as a binary again: with clamped maxima, metered bodies, the host's exports, and
 * without custom sections. Everything added stands behind what the module has (types stay, functions, globals and locals are
 * appended), so that no index of the module changes.
 */
import { reserved } from "#runtime/plugin-host/wasm/grants.ts"
import { type Layout, writeBody, writeStandIn } from "#runtime/plugin-host/wasm/meter.ts"
import {
  type Bounds,
  type Constant,
  exportKinds,
  isRestorable,
  type ParsedModule,
} from "#runtime/plugin-host/wasm/module.ts"
import { price } from "#runtime/plugin-host/wasm/price.ts"
import { type ValueType, valueTypeCodes } from "#runtime/plugin-host/wasm/value-type.ts"
import { Writer } from "#runtime/plugin-host/wasm/writer.ts"

const magicAndVersion = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]
const end = 0x0b
const functionTypeForm = 0x60
const functionKind = exportKinds.indexOf("function")
const globalKind = exportKinds.indexOf("global")
const memoryKind = exportKinds.indexOf("memory")

export const rewrite = (source: Uint8Array, module: ParsedModule): Uint8Array => {
  const rewriting = new Rewriting(source, module)
  return rewriting.run()
}

class Rewriting {
  readonly #source: Uint8Array
  readonly #module: ParsedModule
  /** Imported functions that need a stand-in, in the order of the stand-ins. */
  readonly #referenced: ReadonlyArray<number>
  readonly #layout: Layout
  readonly #out = new Writer()
  readonly #section = new Writer()
  readonly #body = new Writer()

  constructor(source: Uint8Array, module: ParsedModule) {
    this.#source = source
    this.#module = module
    this.#referenced = [...module.referencedImports]
    const globals = module.globals.length
    const standIns = new Map(this.#referenced.map((imported, at) => [imported, module.functions.length + at]))
    this.#layout = {
      fuel: globals,
      stack: globals + 1,
      growthRefused: globals + 2,
      memoryPages: module.memory?.maximum ?? 0,
      standIn: (imported) => standIns.get(imported) ?? imported,
    }
  }

  run(): Uint8Array {
    const { types, imports, tables, memory, elements, dataCount, data } = this.#module
    this.#out.raw(magicAndVersion)
    this.#vector(1, types, (type) => {
      this.#section.byte(functionTypeForm)
      this.#valueTypes(type.params)
      this.#valueTypes(type.results)
    })
    this.#vector(2, imports, (imported) => {
      this.#section.name(imported.module)
      this.#section.name(imported.name)
      this.#section.byte(functionKind)
      this.#section.u32(imported.typeIndex)
    })
    this.#functions()
    this.#vector(4, tables, (table) => {
      this.#section.byte(valueTypeCodes[table.element])
      this.#bounds(table)
    })
    this.#vector(5, memory === undefined ? [] : [memory], (bounds) => this.#bounds(bounds))
    this.#globals()
    this.#exports()
    this.#vector(9, elements, (segment) => this.#elementSegment(segment))
    if (dataCount !== undefined) {
      this.#section.u32(dataCount)
      this.#close(12)
    }
    this.#code()
    this.#vector(11, data, (segment) => {
      this.#section.byte(segment.offset === undefined ? 1 : 0)
      if (segment.offset !== undefined) this.#constant(segment.offset)
      this.#section.sized(segment.bytes)
    })
    return this.#out.written.slice()
  }

  /** Ends a section that was written. */
  #close(id: number): void {
    this.#out.byte(id)
    this.#out.sized(this.#section.written)
    this.#section.clear()
  }

  #vector<Item>(id: number, items: ReadonlyArray<Item>, write: (item: Item) => void): void {
    if (items.length === 0) return
    this.#section.u32(items.length)
    for (const item of items) write(item)
    this.#close(id)
  }

  #valueTypes(types: ReadonlyArray<ValueType>): void {
    this.#section.u32(types.length)
    for (const type of types) this.#section.byte(valueTypeCodes[type])
  }

  #bounds(bounds: Bounds): void {
    this.#section.byte(1)
    this.#section.u32(bounds.minimum)
    this.#section.u32(bounds.maximum)
  }

  /** A reference to a function: to its stand-in where it is imported. */
  #reference(functionIndex: number): void {
    this.#section.u32(this.#layout.standIn(functionIndex))
  }

  #constant(constant: Constant): void {
    for (const part of constant) {
      if ("bytes" in part) this.#section.raw(part.bytes)
      else {
        this.#section.byte(0xd2)
        this.#reference(part.functionIndex)
      }
    }
    this.#section.byte(end)
  }

  #functions(): void {
    const { functions, imports } = this.#module
    const defined = functions.slice(imports.length)
    const standIns = this.#referenced.map((imported) => functions[imported] ?? 0)
    this.#vector(3, [...defined, ...standIns], (type) => this.#section.u32(type))
  }

  /** The module's globals and those of the meter, which are zero until the host sets them: without fuel nothing runs. */
  #globals(): void {
    const { globals } = this.#module
    this.#section.u32(globals.length + 3)
    for (const global of globals) {
      this.#section.byte(valueTypeCodes[global.type])
      this.#section.byte(global.mutable ? 1 : 0)
      this.#constant(global.value)
    }
    const mutable = 1
    this.#section.raw([valueTypeCodes.i64, mutable, 0x42, 0, end])
    this.#section.raw([valueTypeCodes.i32, mutable, 0x41, 0, end])
    this.#section.raw([valueTypeCodes.i32, mutable, 0x41, 0, end])
    this.#close(6)
  }

  #exports(): void {
    const { exports, globals, memory, start } = this.#module
    const added: Array<readonly [name: string, kind: number, index: number]> = [
      [reserved.fuel, globalKind, this.#layout.fuel],
      [reserved.stack, globalKind, this.#layout.stack],
      [reserved.growthRefused, globalKind, this.#layout.growthRefused],
    ]
    if (memory !== undefined) added.push([reserved.memory, memoryKind, 0])
    for (const [index, global] of globals.entries())
      if (isRestorable(global)) added.push([`${reserved.global}${index}`, globalKind, index])
    if (start !== undefined) added.push([reserved.start, functionKind, this.#layout.standIn(start)])
    for (const { name, kind, index } of exports)
      added.push([name, exportKinds.indexOf(kind), kind === "function" ? this.#layout.standIn(index) : index])
    this.#vector(7, added, ([name, kind, index]) => {
      this.#section.name(name)
      this.#section.byte(kind)
      this.#section.u32(index)
    })
  }

  #elementSegment({ flags, table, offset, type, elements }: ParsedModule["elements"][number]): void {
    this.#section.u32(flags)
    if (offset !== undefined) {
      if ((flags & 2) !== 0) this.#section.u32(table)
      this.#constant(offset)
    }
    if ((flags & 3) !== 0) this.#section.byte((flags & 4) !== 0 ? valueTypeCodes[type] : 0)
    this.#section.u32(elements.length)
    for (const element of elements) {
      if (typeof element === "number") this.#reference(element)
      else this.#constant(element)
    }
  }

  #code(): void {
    const { bodies, functions, imports, types } = this.#module
    this.#vector(10, [...bodies, ...this.#referenced], (body) => {
      this.#body.clear()
      if (typeof body !== "number") writeBody(this.#body, this.#source, body, this.#layout)
      else {
        const params = types[functions[body] ?? -1]?.params.length ?? 0
        writeStandIn(this.#body, body, price.call + (imports[body]?.price ?? 0), params, this.#layout)
      }
      this.#section.sized(this.#body.written)
    })
  }
}
