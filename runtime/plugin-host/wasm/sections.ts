/**
 * Parses a WebAssembly binary, section by section, into a `ParsedModule`. Fails closed: on any section, type,
 * flag or opcode it does not know, on any count that cannot be true, and on any byte left over. Nothing is
 * allocated by a count of the module's before the bytes that it counts are seen. Custom sections are skipped, and so lost.
 */
import { readConstant, readFunctionIndex } from "#runtime/plugin-host/wasm/constant.ts"
import { readBody } from "#runtime/plugin-host/wasm/function-body.ts"
import { type Grants, reservedPrefix } from "#runtime/plugin-host/wasm/grants.ts"
import { readImports } from "#runtime/plugin-host/wasm/imports.ts"
import type { Limits } from "#runtime/plugin-host/wasm/limits.ts"
import {
  type Bounds,
  type Constant,
  type ElementSegment,
  emptyModule,
  exportKinds,
  type ParsedModule,
} from "#runtime/plugin-host/wasm/module.ts"
import { Reader } from "#runtime/plugin-host/wasm/reader.ts"
import { refused } from "#runtime/plugin-host/wasm/refused.ts"
import { readReferenceType, readValueType, type ValueType } from "#runtime/plugin-host/wasm/value-type.ts"

const magicAndVersion = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]
const customSection = 0
const functionTypeForm = 0x60

type Section = readonly [
  name: string,
  read: (reader: Reader, module: ParsedModule, limits: Limits, grants: Grants) => void,
]

/** By section id. */
const sections: ReadonlyMap<number, Section> = new Map<number, Section>([
  [1, ["type", (reader, module, limits) => readTypes(reader, module, limits)]],
  [2, ["import", (reader, module, limits, grants) => readImports(reader, module, limits, grants)]],
  [3, ["function", (reader, module, limits) => readFunctions(reader, module, limits)]],
  [4, ["table", (reader, module, limits) => readTables(reader, module, limits)]],
  [5, ["memory", (reader, module, limits) => readMemory(reader, module, limits)]],
  [6, ["global", (reader, module, limits) => readGlobals(reader, module, limits)]],
  [7, ["export", (reader, module, limits) => readExports(reader, module, limits)]],
  [8, ["start", (reader, module) => readStart(reader, module)]],
  [9, ["element", (reader, module, limits) => readElements(reader, module, limits)]],
  [12, ["data count", (reader, module, limits) => readDataCount(reader, module, limits)]],
  [10, ["code", (reader, module, limits) => readCode(reader, module, limits)]],
  [11, ["data", (reader, module, limits) => readData(reader, module, limits)]],
])

/** The order in which sections stand in a module. */
const order = [...sections.keys()]

export const parse = (bytes: Uint8Array, limits: Limits, grants: Grants): ParsedModule => {
  if (bytes.length > limits.moduleBytes)
    throw refused("limit", `The module has ${bytes.length} bytes, at most ${limits.moduleBytes} are allowed`)
  const reader = new Reader(bytes)
  for (const expected of magicAndVersion)
    if (reader.left === 0 || reader.byte() !== expected)
      throw refused("malformed", "This is not a WebAssembly module of version 1")
  const module = emptyModule()
  let position = -1
  while (reader.left > 0) {
    const start = reader.at
    const id = reader.byte()
    const size = reader.u32()
    if (size > reader.left) throw reader.malformed(`Section ${id} is longer than the module`, start)
    if (id === customSection) {
      reader.at += size
      continue
    }
    const section = sections.get(id)
    if (section === undefined) throw reader.unsupported(`Unknown section ${id}`, start)
    const [name, read] = section
    if (order.indexOf(id) <= position) throw reader.malformed(`The ${name} section is repeated or out of order`, start)
    position = order.indexOf(id)
    within(reader, size, `${name} section`, () => read(reader, module, limits, grants))
  }
  const defined = module.functions.length - module.imports.length
  if (module.bodies.length !== defined)
    throw refused("malformed", `${defined} functions are declared, and ${module.bodies.length} have a body`)
  if (module.dataCount !== undefined && module.data.length !== module.dataCount)
    throw refused("malformed", `${module.dataCount} data segments are announced, and there are ${module.data.length}`)
  return module
}

/** Reads a part of `size` bytes, all of it and nothing more. */
const within = (reader: Reader, size: number, what: string, read: () => void): void => {
  const outerEnd = reader.end
  if (size > reader.left) throw reader.malformed(`The ${what} is longer than what surrounds it`)
  reader.end = reader.at + size
  read()
  if (reader.left !== 0) throw reader.malformed(`The ${what} has ${reader.left} bytes left over`)
  reader.end = outerEnd
}

const readTypes = (reader: Reader, module: ParsedModule, limits: Limits): void => {
  for (let left = reader.count(limits.types, "types"); left > 0; left--) {
    const offset = reader.at
    const form = reader.byte()
    if (form !== functionTypeForm) throw reader.unsupported(`Unknown form of type 0x${form.toString(16)}`, offset)
    const params = readValueTypes(reader, module, limits.parameters, "parameters")
    const results = readValueTypes(reader, module, limits.results, "results")
    module.types.push({ params, results })
  }
}

const readValueTypes = (reader: Reader, module: ParsedModule, limit: number, what: string): Array<ValueType> => {
  const types: Array<ValueType> = []
  for (let left = reader.count(limit, what); left > 0; left--) {
    const type = readValueType(reader)
    if (type === "v128") module.vectors = true
    types.push(type)
  }
  return types
}

const readFunctions = (reader: Reader, module: ParsedModule, limits: Limits): void => {
  for (let left = reader.count(limits.functions, "functions"); left > 0; left--) {
    const offset = reader.at
    const index = reader.u32()
    if (index >= module.types.length) throw reader.malformed(`There is no type ${index}`, offset)
    module.functions.push(index)
  }
}

/** Bounds of a memory or table: no other form than "minimum" and "minimum, maximum". */
const readBounds = (reader: Reader, most: number, what: string): Bounds => {
  const offset = reader.at
  const flags = reader.byte()
  if (flags > 1) {
    const feature = (flags & 2) !== 0 ? "shared memory" : (flags & 4) !== 0 ? "64-bit addresses" : "custom page sizes"
    throw reader.unsupported(`Unknown form of bounds 0x${flags.toString(16)} (${feature})`, offset)
  }
  const minimum = reader.u32()
  const maximum = flags === 1 ? reader.u32() : most
  if (minimum > most)
    throw refused("limit", `It starts with ${minimum} ${what}, at most ${most} are allowed`, { offset })
  if (maximum < minimum) throw reader.malformed(`The maximum of ${what} is below the minimum`, offset)
  return { minimum, maximum: Math.min(maximum, most) }
}

const readTables = (reader: Reader, module: ParsedModule, limits: Limits): void => {
  for (let left = reader.count(limits.tables, "tables"); left > 0; left--) {
    const element = readReferenceType(reader)
    module.tables.push({ element, ...readBounds(reader, limits.tableElements, "elements of a table") })
  }
}

const readMemory = (reader: Reader, module: ParsedModule, limits: Limits): void => {
  const offset = reader.at
  const count = reader.u32()
  if (count > 1) throw reader.unsupported(`${count} memories, at most one is allowed`, offset)
  if (count === 1) module.memory = readBounds(reader, limits.memoryPages, "pages of memory")
}

const readGlobals = (reader: Reader, module: ParsedModule, limits: Limits): void => {
  for (let left = reader.count(limits.globals, "globals"); left > 0; left--) {
    const type = readValueType(reader)
    if (type === "v128") module.vectors = true
    const offset = reader.at
    const mutability = reader.byte()
    if (mutability > 1) throw reader.unsupported(`Unknown mutability of a global ${mutability}`, offset)
    module.globals.push({ type, mutable: mutability === 1, value: readConstant(reader, module, limits) })
  }
}

const readExports = (reader: Reader, module: ParsedModule, limits: Limits): void => {
  const names = new Set<string>()
  for (let left = reader.count(limits.exports, "exports"); left > 0; left--) {
    const offset = reader.at
    const name = reader.name(limits.nameBytes)
    if (name.startsWith(reservedPrefix))
      throw refused("reserved_name", `The module exports ${JSON.stringify(name)}, a name of the host's own`, { offset })
    if (names.has(name)) throw reader.malformed(`${JSON.stringify(name)} is exported twice`, offset)
    names.add(name)
    const kindCode = reader.byte()
    const kind = exportKinds[kindCode]
    if (kind === undefined) throw reader.unsupported(`Unknown kind of export ${kindCode}`, reader.at - 1)
    module.exports.push({ name, kind, index: kind === "function" ? readFunctionIndex(reader, module) : reader.u32() })
  }
}

const readStart = (reader: Reader, module: ParsedModule): void => {
  module.start = readFunctionIndex(reader, module)
}

const readElements = (reader: Reader, module: ParsedModule, limits: Limits): void => {
  let elements = 0
  for (let left = reader.count(limits.elementSegments, "element segments"); left > 0; left--) {
    const offset = reader.at
    const segment = readElementSegment(reader, module, limits)
    elements += segment.elements.length
    if (elements > limits.segmentElements)
      throw refused("limit", `${elements} elements, at most ${limits.segmentElements} are allowed`, { offset })
    module.elements.push(segment)
  }
}

const readElementSegment = (reader: Reader, module: ParsedModule, limits: Limits): ElementSegment => {
  const start = reader.at
  const flags = reader.u32()
  if (flags > 7) throw reader.unsupported(`Unknown form of an element segment ${flags}`, start)
  const active = (flags & 1) === 0
  const explicit = (flags & 3) !== 0
  const expressions = (flags & 4) !== 0
  const table = active && explicit ? reader.u32() : 0
  const offset = active ? readConstant(reader, module, limits) : undefined
  let type: "funcref" | "externref" = "funcref"
  if (explicit && expressions) type = readReferenceType(reader)
  else if (explicit && reader.byte() !== 0) throw reader.unsupported("Unknown kind of elements", reader.at - 1)
  const count = reader.count(limits.segmentElements, "elements")
  if (!expressions) {
    const functions: Array<number> = []
    for (let left = count; left > 0; left--) functions.push(readFunctionIndex(reader, module))
    return { flags, table, offset, type, elements: functions }
  }
  const constants: Array<Constant> = []
  for (let left = count; left > 0; left--) constants.push(readConstant(reader, module, limits))
  return { flags, table, offset, type, elements: constants }
}

const readDataCount = (reader: Reader, module: ParsedModule, limits: Limits): void => {
  const offset = reader.at
  const count = reader.u32()
  if (count > limits.dataSegments)
    throw refused("limit", `${count} data segments, at most ${limits.dataSegments} are allowed`, { offset })
  module.dataCount = count
}

const readCode = (reader: Reader, module: ParsedModule, limits: Limits): void => {
  const declared = module.functions.length - module.imports.length
  const offset = reader.at
  const count = reader.count(limits.functions, "function bodies")
  if (count !== declared) throw reader.malformed(`${declared} functions are declared, and ${count} have a body`, offset)
  for (let body = 0; body < count; body++) {
    const functionIndex = module.imports.length + body
    reader.functionIndex = functionIndex
    const size = reader.u32()
    if (size > limits.bodyBytes)
      throw refused("limit", `A body of ${size} bytes, at most ${limits.bodyBytes} are allowed`, reader.place())
    const type = module.types[module.functions[functionIndex] ?? -1]
    if (type === undefined) throw reader.malformed("A function without a type")
    within(reader, size, "function", () => module.bodies.push(readBody(reader, module, limits, type)))
  }
  reader.functionIndex = undefined
}

const readData = (reader: Reader, module: ParsedModule, limits: Limits): void => {
  for (let left = reader.count(limits.dataSegments, "data segments"); left > 0; left--) {
    const start = reader.at
    const flags = reader.u32()
    if (flags > 2) throw reader.unsupported(`Unknown form of a data segment ${flags}`, start)
    if (flags === 2 && reader.u32() !== 0) throw reader.unsupported("A memory other than the first", start + 1)
    if (flags !== 1 && module.memory === undefined) throw reader.malformed("There is no memory", start)
    const offset = flags === 1 ? undefined : readConstant(reader, module, limits)
    const bytes = reader.take(reader.count(limits.moduleBytes, "bytes of data"))
    module.data.push({ offset, bytes })
  }
}
