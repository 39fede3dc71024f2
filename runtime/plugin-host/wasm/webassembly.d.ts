/**
 * The part of the WebAssembly JavaScript interface that this folder uses. TypeScript ships it only
 * with the browser's types, which a service should not have in scope.
 */
declare namespace WebAssembly {
  type ExportValue = ((...args: ReadonlyArray<unknown>) => unknown) | Global | Memory | Table
  type Imports = Record<string, Record<string, (...args: Array<never>) => unknown>>

  interface Global<Value = unknown> {
    value: Value
  }
  interface Memory {
    readonly buffer: ArrayBuffer
  }
  interface Table {
    readonly length: number
  }
  class Module {
    constructor(bytes: Uint8Array)
    readonly [Symbol.toStringTag]: "WebAssembly.Module"
  }
  class Instance {
    constructor(module: Module, imports?: Imports)
    readonly exports: Record<string, ExportValue>
  }
  class CompileError extends Error {}
  class RuntimeError extends Error {}
  const Global: abstract new () => Global
  const Memory: abstract new () => Memory
  function validate(bytes: Uint8Array): boolean
  function compile(bytes: Uint8Array): Promise<Module>
}
