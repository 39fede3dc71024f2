/** The value types that admission knows, with their codes in the binary format. */
import type { Reader } from "#runtime/plugin-host/wasm/reader.ts"

export const valueTypeCodes = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
  funcref: 0x70,
  externref: 0x6f,
} as const

export type ValueType = keyof typeof valueTypeCodes

const byCode = new Map<number, ValueType>(
  // The keys of a literal object are its key type.
  (Object.keys(valueTypeCodes) as Array<ValueType>).map((name) => [valueTypeCodes[name], name]),
)

export const isValueTypeCode = (code: number): boolean => byCode.has(code)

/** Parameters and results of a function. */
export interface FunctionType {
  readonly params: ReadonlyArray<ValueType>
  readonly results: ReadonlyArray<ValueType>
}

export const describeType = (type: FunctionType): string =>
  `(${type.params.join(", ")}) -> (${type.results.join(", ")})`

const hex = (code: number): string => `0x${code.toString(16).padStart(2, "0")}`

export const readValueType = (reader: Reader): ValueType => {
  const offset = reader.at
  const code = reader.byte()
  const type = byCode.get(code)
  if (type === undefined) throw reader.unsupported(`Unknown value type ${hex(code)}`, offset)
  return type
}

export const readReferenceType = (reader: Reader): "funcref" | "externref" => {
  const offset = reader.at
  const type = readValueType(reader)
  if (type !== "funcref" && type !== "externref")
    throw reader.unsupported(`${type} is not a reference type that may stand here`, offset)
  return type
}
