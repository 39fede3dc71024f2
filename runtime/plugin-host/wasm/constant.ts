/** Reads constant expressions: the initial value of a global, the offset of a segment, an element. */
import type { Limits } from "#runtime/plugin-host/wasm/limits.ts"
import type { Constant, ParsedModule } from "#runtime/plugin-host/wasm/module.ts"
import { describeOpcode } from "#runtime/plugin-host/wasm/opcodes.ts"
import type { Reader } from "#runtime/plugin-host/wasm/reader.ts"
import { refused } from "#runtime/plugin-host/wasm/refused.ts"
import { readReferenceType } from "#runtime/plugin-host/wasm/value-type.ts"

const end = 0x0b
const vectorPrefix = 0xfd

/** A reference to an imported function is noted in the module: it will be one to its stand-in. */
export const readConstant = (reader: Reader, module: ParsedModule, limits: Limits): Constant => {
  const constant: Array<Constant[number]> = []
  for (;;) {
    const offset = reader.at
    const opcode = reader.byte()
    if (opcode === end) return constant
    if (constant.length >= limits.constantInstructions)
      throw refused(
        "limit",
        `A constant of more than ${limits.constantInstructions} instructions`,
        reader.place(offset),
      )
    if (opcode === 0xd2) {
      constant.push({ functionIndex: readFunctionIndex(reader, module) })
      continue
    }
    skipImmediate(reader, module, opcode, offset)
    constant.push({ bytes: reader.bytes.subarray(offset, reader.at) })
  }
}

/** A function index outside of code. */
export const readFunctionIndex = (reader: Reader, module: ParsedModule): number => {
  const offset = reader.at
  const index = reader.u32()
  if (index >= module.functions.length) throw reader.malformed(`There is no function ${index}`, offset)
  if (index < module.imports.length) module.referencedImports.add(index)
  return index
}

const skipImmediate = (reader: Reader, module: ParsedModule, opcode: number, offset: number) => {
  switch (opcode) {
    case 0x41: // i32.const
      return reader.skipSigned(32)
    case 0x42: // i64.const
      return reader.skipSigned(64)
    case 0x43: // f32.const
      return reader.skip(4)
    case 0x44: // f64.const
      return reader.skip(8)
    case 0x6a: // i32.add, sub, mul
    case 0x6b:
    case 0x6c:
    case 0x7c: // i64.add, sub, mul
    case 0x7d:
    case 0x7e:
      return
    case 0x23: {
      const index = reader.u32()
      // The globals read so far: a constant may only use those before it.
      if (index >= module.globals.length) throw reader.malformed(`There is no global ${index}`, offset + 1)
      return
    }
    case 0xd0: // ref.null
      readReferenceType(reader)
      return
    case vectorPrefix: {
      const code = reader.u32()
      if (code !== 0x0c) throw reader.unsupported(`In a constant, ${describeOpcode(vectorPrefix, code)}`, offset)
      return reader.skip(16)
    }
    default:
      throw reader.unsupported(`In a constant, ${describeOpcode(undefined, opcode)}`, offset)
  }
}
