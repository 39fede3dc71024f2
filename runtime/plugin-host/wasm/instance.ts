/**
 * Runs an admitted module: instantiates it with exactly the granted imports, sets fuel and stack before every call, and
 * tells how a call ended as a value.
 *
 * A call ends after at most its fuel, however the module is written. An instance that faulted is not called again, and
 * none is called while it runs. State that a module keeps is seen by the next call of the same instance, unless it is
 * `reset` in between.
 */
import type { Admitted } from "#runtime/plugin-host/wasm/admission.ts"
import { type Fault, faultOf } from "#runtime/plugin-host/wasm/fault.ts"
import { reserved } from "#runtime/plugin-host/wasm/grants.ts"
import { pageBytes } from "#runtime/plugin-host/wasm/limits.ts"

/** What a host function takes and returns: numbers, and bigints for i64. */
export type HostFunction = (...args: Array<never>) => number | bigint | undefined

/** Implementations of granted imports, by module and name. */
export type HostFunctions = ReadonlyMap<string, ReadonlyMap<string, HostFunction>>

export interface CallBudget {
  /** Units of fuel, an integer up to 2^53. */
  readonly fuel: number
  /** Bytes of accounted stack. */
  readonly stackBytes: number
}

/** About half of what the main thread of Node has (984 KB), so that the accounting may err by a factor of two. */
export const defaultStackBytes = 512 * 1024

export type Exit =
  | { readonly ok: true; readonly value: unknown; readonly fuelUsed: number }
  | { readonly ok: false; readonly fault: Fault; readonly fuelUsed: number }

/** A module compiled, to be instantiated many times. */
export interface Compiled {
  readonly admitted: Admitted
  readonly module: WebAssembly.Module
}

/** Compiles off the calling thread. */
export const compile = (admitted: Admitted): Promise<Compiled> =>
  WebAssembly.compile(admitted.wasm).then((module) => ({ admitted, module }))

export class Instance {
  readonly #compiled: Compiled
  readonly #exports: Record<string, WebAssembly.ExportValue>
  readonly #fuel: WebAssembly.Global<bigint>
  readonly #stack: WebAssembly.Global<number>
  readonly #growthRefused: WebAssembly.Global<number>
  readonly #pristine: Pristine | undefined
  #spent = false
  #running = false

  private constructor(compiled: Compiled, exports: Record<string, WebAssembly.ExportValue>) {
    this.#compiled = compiled
    this.#exports = exports
    // The rewriting exports these three globals with these types from every admitted module.
    this.#fuel = exports[reserved.fuel] as WebAssembly.Global<bigint>
    this.#stack = exports[reserved.stack] as WebAssembly.Global<number>
    this.#growthRefused = exports[reserved.growthRefused] as WebAssembly.Global<number>
    this.#pristine = compiled.admitted.resettable ? pristine(exports, this.memory) : undefined
  }

  /**
   * Sets memory and globals back to what they were after `create`, so that the next call cannot tell it from the first one of a
   * new instance. False when that cannot be done: the module is not resettable, its memory is large or has grown, or it faulted.
   */
  reset(): boolean {
    const { memory } = this
    if (
      this.#spent ||
      this.#running ||
      this.#pristine === undefined ||
      memory?.length !== this.#pristine.memory?.length
    )
      return false
    if (this.#pristine.memory !== undefined) memory?.set(this.#pristine.memory)
    for (const [global, value] of this.#pristine.globals) global.value = value
    return true
  }

  /** Runs no code of the module, not even its start function: see `start`. */
  static create(compiled: Compiled, functions: HostFunctions): Instance | Fault {
    const imports = importObject(compiled.admitted, functions)
    if ("reason" in imports) return imports
    try {
      return new Instance(compiled, new WebAssembly.Instance(compiled.module, imports.object).exports)
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : "it does not say why"
      return { reason: "instantiation", message }
    }
  }

  /** To look at. Calling one of them directly would run it with whatever fuel is left. */
  get exports(): Readonly<Record<string, WebAssembly.ExportValue>> {
    return this.#exports
  }

  /** The memory as it is now, where there is one. It is another buffer after it has grown. */
  get memory(): Uint8Array | undefined {
    const memory = this.#exports[reserved.memory]
    return memory instanceof WebAssembly.Memory ? new Uint8Array(memory.buffer) : undefined
  }

  /** Fuel that is left in the call that is running. */
  get fuelLeft(): number {
    return Math.max(0, Number(this.#fuel.value))
  }

  /** For a host function whose cost depends on its arguments. Ends the call when the fuel does. */
  charge(amount: number): void {
    const left = this.#fuel.value - BigInt(amount)
    this.#fuel.value = left
    if (left < 0n) throw new WebAssembly.RuntimeError("unreachable")
  }

  /** Runs the start function, where there is one. */
  start(budget: CallBudget): Exit {
    if (!this.#compiled.admitted.hasStart) return { ok: true, value: undefined, fuelUsed: 0 }
    return this.#run(reserved.start, [], budget)
  }

  /** Calls an exported function. */
  call(name: string, args: ReadonlyArray<number | bigint>, budget: CallBudget): Exit {
    const exported = this.#compiled.admitted.exports.find((candidate) => candidate.name === name)
    if (exported?.type === undefined) return refusedCall("no_such_function", `it exports no function ${name}`)
    const expected = exported.type.params
    const fits =
      args.length === expected.length &&
      args.every((arg, at) => (expected[at] === "i64" ? typeof arg === "bigint" : isNumeric(expected[at], arg)))
    if (!fits) return refusedCall("no_such_function", `${name} takes (${expected.join(", ")})`)
    return this.#run(name, args, budget)
  }

  #run(name: string, args: ReadonlyArray<number | bigint>, budget: CallBudget): Exit {
    if (this.#spent) return refusedCall("trap", "the instance faulted before")
    if (this.#running) return refusedCall("trap", "a call of the instance is running")
    const target = this.#exports[name]
    if (typeof target !== "function") return refusedCall("no_such_function", `it exports no function ${name}`)
    this.#fuel.value = BigInt(budget.fuel)
    this.#stack.value = budget.stackBytes
    this.#growthRefused.value = 0
    this.#running = true
    try {
      const value = target(...args)
      return { ok: true, value, fuelUsed: budget.fuel - Number(this.#fuel.value) }
    } catch (thrown) {
      this.#spent = true
      return { ok: false, fault: this.#fault(thrown), fuelUsed: budget.fuel - this.fuelLeft }
    } finally {
      this.#running = false
    }
  }

  /** The meter's own traps are told by its globals, which only the meter sets below zero. */
  #fault(thrown: unknown): Fault {
    if (this.#fuel.value < 0n) return { reason: "out_of_fuel", message: "the fuel of the call is used up" }
    if (this.#stack.value < 0) return { reason: "stack_exhausted", message: "the calls are nested too deep" }
    const fault = faultOf(thrown)
    if (this.#growthRefused.value === 1 && (fault.reason === "unreachable" || fault.reason === "aborted")) {
      const pages = this.#compiled.admitted.memoryPages
      return {
        reason: "out_of_memory",
        message: `the memory could not grow beyond ${pages} pages; then: ${fault.message}`,
      }
    }
    return fault
  }
}

/** What an instance was before anything ran. */
interface Pristine {
  readonly memory: Uint8Array | undefined
  readonly globals: ReadonlyArray<readonly [WebAssembly.Global, unknown]>
}

/** Above this, copying the memory costs more than a new instance. */
const mostPristineBytes = 32 * pageBytes

const pristine = (
  exports: Record<string, WebAssembly.ExportValue>,
  memory: Uint8Array | undefined,
): Pristine | undefined => {
  if (memory !== undefined && memory.length > mostPristineBytes) return undefined
  const globals: Array<readonly [WebAssembly.Global, unknown]> = []
  for (const [name, value] of Object.entries(exports)) {
    if (!name.startsWith(reserved.global) || !(value instanceof WebAssembly.Global)) continue
    // The bits of a NaN do not survive the way through a number.
    if (Number.isNaN(value.value)) return undefined
    globals.push([value, value.value])
  }
  return { memory: memory?.slice(), globals }
}

const isNumeric = (type: string | undefined, arg: unknown): boolean =>
  typeof arg === "number" && (type === "i32" || type === "f32" || type === "f64")

const refusedCall = (reason: Fault["reason"], message: string): Exit => ({
  ok: false,
  fault: { reason, message },
  fuelUsed: 0,
})

/** Objects without a prototype, that hold what the module imports and nothing else. */
const importObject = (
  admitted: Admitted,
  functions: HostFunctions,
): { readonly object: WebAssembly.Imports } | Fault => {
  const object: WebAssembly.Imports = Object.create(null)
  for (const { module, name } of admitted.imports) {
    const implementation = functions.get(module)?.get(name)
    if (implementation === undefined)
      return { reason: "instantiation", message: `nothing implements the import ${module}.${name}` }
    const namespace: Record<string, HostFunction> = object[module] ?? Object.create(null)
    namespace[name] = implementation
    object[module] = namespace
  }
  return { object }
}
