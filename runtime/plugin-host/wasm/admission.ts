/**
 * Decides whether a WebAssembly module may run here, and makes it safe to run: parse, refuse, clamp, meter.
 *
 * What `admit` returns cannot use more memory, table elements, stack or fuel than it is given, and imports only what it
 * was granted; it runs no code when it is instantiated. Failing closed, it refuses whatever it does not know. It
 * answers the same for the same bytes, limits and grants, so the caller may cache by `admissionKey`.
 * It does not limit the time or fuel of a call: see instance.ts. Runs on the calling thread: about 4 ms per 100 KB, the first time 30 ms more.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { Grants } from "#runtime/plugin-host/wasm/grants.ts"
import type { Limits } from "#runtime/plugin-host/wasm/limits.ts"
import { type ExportKind, isRestorable, type ParsedModule } from "#runtime/plugin-host/wasm/module.ts"
import { meteringVersion } from "#runtime/plugin-host/wasm/price.ts"
import { AdmissionRefused, refused } from "#runtime/plugin-host/wasm/refused.ts"
import { rewrite } from "#runtime/plugin-host/wasm/rewrite.ts"
import { parse } from "#runtime/plugin-host/wasm/sections.ts"
import type { FunctionType } from "#runtime/plugin-host/wasm/value-type.ts"

export interface Admitted {
  /** The rewritten module: the only form that is ever instantiated. */
  readonly wasm: Uint8Array
  /** Of the module as it was given, in lower-case hexadecimal. */
  readonly sha256: string
  /** Every import once, each of them granted. */
  readonly imports: ReadonlyArray<AdmittedImport>
  readonly exports: ReadonlyArray<AdmittedExport>
  /** The most pages of 64 KiB that its memory can have; 0 without a memory. */
  readonly memoryPages: number
  readonly hasStart: boolean
  /** Can an instance be set back to what it was before its first call? Not when the module changes tables or drops segments. */
  readonly resettable: boolean
}

export interface AdmittedImport {
  readonly module: string
  readonly name: string
}

export interface AdmittedExport {
  readonly name: string
  readonly kind: ExportKind
  /** Of a function. */
  readonly type?: FunctionType
}

export const admit = (bytes: Uint8Array, limits: Limits, grants: Grants): Effect.Effect<Admitted, AdmissionRefused> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(admitNow(bytes, limits, grants))
    } catch (error) {
      if (error instanceof AdmissionRefused) return Effect.fail(error)
      throw error
    }
  })

/** Two modules with one key are admitted, or refused, alike. */
export const admissionKey = (sha256: string, limits: Limits, grants: Grants): string =>
  createHash("sha256")
    .update(JSON.stringify([meteringVersion, sha256, limits, grants]))
    .digest("hex")

export const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const admitNow = (given: Uint8Array, limits: Limits, grants: Grants): Admitted => {
  if (given.length > limits.moduleBytes)
    throw refused("limit", `The module has ${given.length} bytes, at most ${limits.moduleBytes} are allowed`)
  // A copy: nobody can change the bytes between the check and the rewriting.
  const bytes = Uint8Array.from(given)
  const module = parse(bytes, limits, grants)
  // Before the rewriting, so that no index can mean what the rewriting adds.
  requireValid(bytes)
  const wasm = rewrite(bytes, module)
  requireValid(wasm)
  return {
    wasm,
    sha256: sha256Of(bytes),
    imports: importsOf(module),
    exports: exportsOf(module),
    memoryPages: module.memory?.maximum ?? 0,
    hasStart: module.start !== undefined,
    resettable: !module.changesTables && module.globals.every((global) => !global.mutable || isRestorable(global)),
  }
}

const requireValid = (bytes: Uint8Array): void => {
  if (WebAssembly.validate(bytes)) return
  throw refused("invalid", `The engine finds the module invalid: ${whyInvalid(bytes)}`)
}

const whyInvalid = (bytes: Uint8Array): string => {
  try {
    new WebAssembly.Module(bytes)
    return "it does not say why"
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return error.message.replace(/^WebAssembly\.Module\(\): /, "")
    throw error
  }
}

const exportsOf = (module: ParsedModule): ReadonlyArray<AdmittedExport> =>
  module.exports.map(({ name, kind, index }) => {
    const type = kind === "function" ? module.types[module.functions[index] ?? -1] : undefined
    return type === undefined ? { name, kind } : { name, kind, type }
  })

const importsOf = (module: ParsedModule): ReadonlyArray<AdmittedImport> =>
  module.imports
    .map(({ module: from, name }) => ({ module: from, name }))
    .filter(
      (imported, at, all) => at === all.findIndex((o) => o.module === imported.module && o.name === imported.name),
    )
