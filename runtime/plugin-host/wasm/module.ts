/** A parsed module: what the binary says, checked, and not yet rewritten. */
import type { Edit } from "#runtime/plugin-host/wasm/metering-plan.ts"
import type { FunctionType, ValueType } from "#runtime/plugin-host/wasm/value-type.ts"

export interface ImportedFunction {
  readonly module: string
  readonly name: string
  readonly typeIndex: number
  /** Fuel per call. */
  readonly price: number
}

/** Lower and upper bound of a memory (in pages) or a table (in elements), the upper one clamped. */
export interface Bounds {
  readonly minimum: number
  readonly maximum: number
}

export interface TableType extends Bounds {
  readonly element: "funcref" | "externref"
}

/** A constant expression without its `end`: bytes taken over as they are, and references to functions. */
export type Constant = ReadonlyArray<{ readonly bytes: Uint8Array } | { readonly functionIndex: number }>

export interface GlobalVariable {
  readonly type: ValueType
  readonly mutable: boolean
  readonly value: Constant
}

/** Can the host read and set it? Vectors it cannot, and references mean nothing to it. */
export const isRestorable = ({ type, mutable }: GlobalVariable): boolean =>
  mutable && type !== "v128" && type !== "funcref" && type !== "externref"

export const exportKinds = ["function", "table", "memory", "global"] as const
export type ExportKind = (typeof exportKinds)[number]

export interface Export {
  readonly name: string
  readonly kind: ExportKind
  readonly index: number
}

export interface ElementSegment {
  /** As in the binary format: bit 0 passive or declarative, bit 1 explicit table or declarative, bit 2 expressions. */
  readonly flags: number
  readonly table: number
  readonly offset: Constant | undefined
  readonly type: "funcref" | "externref"
  readonly elements: ReadonlyArray<number> | ReadonlyArray<Constant>
}

export interface DataSegment {
  readonly offset: Constant | undefined
  readonly bytes: Uint8Array
}

export interface Body {
  /** The groups of declared locals, as they are in the binary. */
  readonly localGroups: Uint8Array
  readonly localGroupCount: number
  /** Parameters and declared locals. */
  readonly localCount: number
  /** First byte of the code, and the byte after its last `end`. */
  readonly start: number
  readonly end: number
  readonly edits: ReadonlyArray<Edit>
  readonly frameBytes: number
}

export interface ParsedModule {
  readonly types: Array<FunctionType>
  readonly imports: Array<ImportedFunction>
  /** Type of every function, imported ones first. */
  readonly functions: Array<number>
  readonly tables: Array<TableType>
  memory: Bounds | undefined
  readonly globals: Array<GlobalVariable>
  readonly exports: Array<Export>
  start: number | undefined
  readonly elements: Array<ElementSegment>
  dataCount: number | undefined
  readonly bodies: Array<Body>
  readonly data: Array<DataSegment>
  /** Imported functions that can be reached other than by a direct call. */
  readonly referencedImports: Set<number>
  /** Does any type or global hold a 128-bit vector? */
  vectors: boolean
  /** Does any instruction change a table, or drop a segment? */
  changesTables: boolean
}

export const emptyModule = (): ParsedModule => ({
  types: [],
  imports: [],
  functions: [],
  tables: [],
  memory: undefined,
  globals: [],
  exports: [],
  start: undefined,
  elements: [],
  dataCount: undefined,
  bodies: [],
  data: [],
  referencedImports: new Set(),
  vectors: false,
  changesTables: false,
})
