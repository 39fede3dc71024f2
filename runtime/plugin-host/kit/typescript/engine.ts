/**
 * A policy in JavaScript as a WebAssembly module of its own: QuickJS, started, with the policy's source already evaluated in
 * its memory. To admission, metering and the memory cap it is a module like any other; nothing of it knows that it is an interpreter.
 *
 * The same source and packages give the same bytes. What the source does when it is evaluated happens here, when it is built,
 * in this thread and without fuel: build what you would also run.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { default as Binaryen } from "binaryen"
import {
  addCopying,
  constantImports,
  type Exported,
  glue,
  hostNames,
  importPolicyInterface,
} from "#runtime/plugin-host/kit/typescript/host-functions.ts"
import { ioModule } from "#runtime/plugin-host/wasm/io-abi.ts"
import type { IoCall } from "#runtime/plugin-host/wasm/io-request.ts"

type Module = Binaryen.Module

/** Pages of 64 KiB that the interpreter may have; the budget of the policy clamps it further. */
const mostPages = 1_024
/** Bytes of stack within QuickJS: deeper recursion is an error that the policy sees. */
const stackBytes = 192 * 1024
/** QuickJS collects cycles when it allocated so much; a decision rarely does. */
const collectAt = 8 * 1024 * 1024
/** Zeros that a data segment skips: shorter ones cost more as a segment of their own. */
const segmentGap = 64

const preludeFile = new URL("prelude.js.txt", import.meta.url)
/** Before the other: only where the policy asks for what is in it. */
const ioPreludeFile = new URL("io-prelude.js.txt", import.meta.url)

export class SourceRefused extends Error {
  override readonly name = "SourceRefused"
}

/** `source` is a script whose last value is an object of functions: those named are exported. `io`: what the policy asks for. */
export const engineFor = async (
  source: string,
  functions: ReadonlyArray<string>,
  io: ReadonlyArray<IoCall> = [],
): Promise<Uint8Array> => {
  const { default: b } = await import("binaryen")
  const m = b.readBinary(quickjs())
  try {
    m.setFeatures(b.Features.All)
    const names = internalNames(b, m)
    link(b, m, names, io)
    for (const name of names.keys()) if (!needed.has(name)) m.removeExport(name)
    const snapshot = evaluate(m.emitBinary(), source, functions, io)
    setMemory(m, names, snapshot)
    setStackPointer(b, m, names, snapshot)
    for (const [name, handle] of snapshot.handles) addQuestion(b, m, names, name, handle)
    for (const name of needed) m.removeExport(name)
    m.runPasses(["remove-unused-module-elements"])
    return m.emitBinary()
  } finally {
    m.dispose()
  }
}

const quickjs = (): Uint8Array => readFileSync(createRequire(import.meta.url).resolve("quickjs-wasi/quickjs.wasm"))

/** What the host of the snapshot calls. */
const needed: ReadonlySet<string> = new Set([
  "memory",
  "_initialize",
  "__stack_pointer",
  "qjs_init",
  "qjs_set_max_stack_size",
  "qjs_set_gc_threshold",
  "qjs_eval",
  "qjs_is_exception",
  "qjs_get_exception",
  "qjs_get_string_len",
  "qjs_get_prop_string",
  "qjs_is_function",
  "qjs_new_host_function",
  "qjs_new_object",
  "qjs_set_prop_string",
  "qjs_get_global",
  "qjs_get_undefined",
  "qjs_run_gc",
  "qjs_call",
  "qjs_new_string",
  "wasm_malloc",
])

/** By the names of the exports. */
const internalNames = (b: typeof Binaryen, m: Module): ReadonlyMap<string, string> =>
  new Map(
    Array.from({ length: m.getNumExports() }, (_, at) => {
      const { name, value } = b.getExportInfo(m.getExportByIndex(at))
      return [name, value] as const
    }),
  )

const calling =
  (b: typeof Binaryen, m: Module, names: ReadonlyMap<string, string>): Exported =>
  (name, args) => {
    const internal = names.get(name)
    if (internal === undefined) throw new Error(`QuickJS exports no ${name} any more`)
    return m.call(internal, [...args], b.i32)
  }

const link = (b: typeof Binaryen, m: Module, names: ReadonlyMap<string, string>, io: ReadonlyArray<IoCall>): void => {
  const exported = calling(b, m, names)
  importPolicyInterface(b, m, io)
  addCopying(b, m, exported)
  const constants = constantImports(b, m, exported, io)
  const imports = Array.from({ length: m.getNumFunctions() }, (_, at) =>
    b.getFunctionInfo(m.getFunctionByIndex(at)),
  ).filter(({ module }) => module === "env" || module === "wasi_snapshot_preview1")
  for (const { name, module, base, params, results } of imports) {
    const body = constants.get(`${module}.${base}`)
    if (body === undefined) throw new Error(`QuickJS imports ${module}.${base}, for which there is no constant`)
    m.removeFunction(name)
    m.addFunction(name, params, results, [b.i64], body)
  }
}

interface Snapshot {
  readonly memory: Uint8Array
  readonly stackPointer: number
  readonly handles: ReadonlyMap<string, number>
}

const utf8 = new TextEncoder()

/** Starts QuickJS, evaluates the source, and keeps what is in its memory then. */
const evaluate = (
  engine: Uint8Array,
  source: string,
  functions: ReadonlyArray<string>,
  io: ReadonlyArray<IoCall>,
): Snapshot => {
  const imports = { "extism:host/env": buildTimeHost, [ioModule]: buildTimeHost }
  const exports = new WebAssembly.Instance(new WebAssembly.Module(engine), imports).exports
  const memory = exports.memory as WebAssembly.Memory // one of `needed`, which are all there
  const stack = exports.__stack_pointer as WebAssembly.Global<number> // likewise
  const call = (name: string, ...args: ReadonlyArray<number>): number => {
    const target = exports[name]
    if (typeof target !== "function") throw new Error(`QuickJS exports no ${name} any more`)
    return Number(target(...args))
  }
  const text = (value: string): readonly [number, number] => {
    const bytes = utf8.encode(`${value}\0`)
    const at = call("wasm_malloc", bytes.length)
    new Uint8Array(memory.buffer).set(bytes, at)
    return [at, bytes.length - 1]
  }
  const read = (handle: number): string => {
    const lengthAt = call("wasm_malloc", 4)
    const at = call("qjs_get_string_len", handle, lengthAt)
    const length = new DataView(memory.buffer).getUint32(lengthAt, true)
    return new TextDecoder().decode(new Uint8Array(memory.buffer, at, length))
  }
  const run = (code: string, file: string): number => {
    const result = call("qjs_eval", ...text(code), text(file)[0], 0)
    if (call("qjs_is_exception", result) === 0) return result
    const thrown = call("qjs_get_exception")
    const stackText = read(call("qjs_get_prop_string", thrown, text("stack")[0]))
    throw new SourceRefused(`${read(thrown)}\n${stackText}`.trimEnd())
  }

  call("_initialize")
  if (call("qjs_init") !== 0) throw new Error("QuickJS did not start")
  call("qjs_set_max_stack_size", stackBytes)
  call("qjs_set_gc_threshold", collectAt)
  const host = call("qjs_new_object")
  for (const name of [...hostNames, ...io]) {
    call("qjs_set_prop_string", host, text(name)[0], call("qjs_new_host_function", ...text(name), 1))
  }
  call("qjs_set_prop_string", call("qjs_get_global"), text("svcHost")[0], host)
  if (io.length > 0) run(readFileSync(ioPreludeFile, "utf8"), "io-prelude.js")
  run(readFileSync(preludeFile, "utf8"), "prelude.js")
  const found = run(source, "policy.js")
  const handles = new Map(
    functions.map((name) => {
      const handle = call("qjs_get_prop_string", found, text(name)[0])
      if (call("qjs_is_function", handle) === 0) throw new SourceRefused(`The policy exports no function ${name}.`)
      return [name, handle] as const
    }),
  )
  call("qjs_run_gc")
  return { memory: new Uint8Array(memory.buffer).slice(), stackPointer: stack.value, handles }
}

const notYet = () => {
  throw new SourceRefused(
    "The policy asks for its settings, writes to its log, or calls a host, before it is asked a question.",
  )
}
const buildTimeHost = new Proxy({}, { get: () => notYet })

const setMemory = (m: Module, names: ReadonlyMap<string, string>, { memory }: Snapshot): void => {
  const segments: Array<Binaryen.MemorySegment> = []
  for (let at = 0; at < memory.length; ) {
    if (memory[at] === 0) {
      at++
      continue
    }
    const from = at
    let end = at + 1
    for (at = end; at < memory.length && at - end < segmentGap; at++) if (memory[at] !== 0) end = at + 1
    segments.push({ offset: m.i32.const(from), data: memory.slice(from, end) })
  }
  m.setMemory(memory.length / 65_536, mostPages, null, segments, false, false, names.get("memory"))
}

const setStackPointer = (
  b: typeof Binaryen,
  m: Module,
  names: ReadonlyMap<string, string>,
  { stackPointer }: Snapshot,
): void => {
  const name = names.get("__stack_pointer")
  if (name === undefined) throw new Error("QuickJS exports no stack pointer any more")
  m.removeGlobal(name)
  m.addGlobal(name, b.i32, true, m.i32.const(stackPointer))
}

/** `() → i32`: the question's text to the function, its result to the answer; 1 where it threw. */
const addQuestion = (
  b: typeof Binaryen,
  m: Module,
  names: ReadonlyMap<string, string>,
  name: string,
  handle: number,
): void => {
  const exported = calling(b, m, names)
  const result = () => m.local.get(0, b.i32)
  const address = () => m.local.get(1, b.i64)
  const input = m.call(
    glue.fromExchange,
    [m.call("input_offset", [], b.i64), m.i32.wrap(m.call("input_length", [], b.i64))],
    b.i32,
  )
  const body = m.block(
    null,
    [
      m.local.set(2, exported("wasm_malloc", [m.i32.const(4)])),
      m.i32.store(0, 4, m.local.get(2, b.i32), input),
      m.local.set(
        0,
        exported("qjs_call", [
          m.i32.const(handle),
          exported("qjs_get_undefined", []),
          m.i32.const(1),
          m.local.get(2, b.i32),
        ]),
      ),
      m.if(
        exported("qjs_is_exception", [result()]),
        m.block(null, [
          m.call("error_set", [m.call(glue.toExchange, [exported("qjs_get_exception", [])], b.i64)], b.none),
          m.return(m.i32.const(1)),
        ]),
      ),
      m.local.set(1, m.call(glue.toExchange, [result()], b.i64)),
      m.call("output_set", [address(), m.call("length", [address()], b.i64)], b.none),
      m.i32.const(0),
    ],
    b.i32,
  )
  m.addFunction(`svc_ask_${name}`, b.none, b.i32, [b.i32, b.i64, b.i32], body)
  m.addFunctionExport(`svc_ask_${name}`, name)
}
