/**
 * How large an admitted module may be, in every respect in which a module can be large. What is above a
 * limit is refused before anything is allocated for it; memory and table maxima are clamped instead.
 */

export interface Limits {
  /** Bytes of the binary. */
  readonly moduleBytes: number
  /** Linear memory, in pages of 64 KiB: the hard maximum written into the module. */
  readonly memoryPages: number
  /** Elements of each table: the hard maximum written into the module. */
  readonly tableElements: number
  readonly tables: number
  readonly types: number
  readonly imports: number
  readonly functions: number
  readonly globals: number
  readonly exports: number
  readonly elementSegments: number
  /** Elements over all element segments. */
  readonly segmentElements: number
  readonly dataSegments: number
  readonly parameters: number
  readonly results: number
  /** Declared locals of one function. */
  readonly locals: number
  /** Bytes of one function body. */
  readonly bodyBytes: number
  /** Blocks open at once in one function. */
  readonly nesting: number
  /** Accounted stack of one function, in bytes (see `frameBytes` in function-body.ts). */
  readonly frameBytes: number
  /** Instructions of one constant expression. */
  readonly constantInstructions: number
  /** Bytes of one import or export name. */
  readonly nameBytes: number
}

export const pageBytes = 65_536

/** Room for an interpreter compiled to WebAssembly (about 1 MB, 3,000 functions), and little more. */
export const defaultLimits: Limits = {
  moduleBytes: 4 * 1024 * 1024,
  memoryPages: 256, // 16 MiB
  tableElements: 20_000,
  tables: 4,
  types: 2_000,
  imports: 256,
  functions: 20_000,
  globals: 1_000,
  exports: 1_000,
  elementSegments: 1_000,
  segmentElements: 40_000,
  dataSegments: 10_000,
  parameters: 128,
  results: 64,
  locals: 4_096,
  bodyBytes: 512 * 1024,
  nesting: 2_048,
  frameBytes: 64 * 1024,
  constantInstructions: 64,
  nameBytes: 256,
}
