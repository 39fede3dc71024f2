/**
 * Takes the world away from QuickJS: what it imports from a system becomes a constant within the module, and what is left
 * is the interface of policies, the same that a module of any other language has. No clock, no randomness, no files.
 */
import type binaryen from "binaryen"
import { ioModule } from "#runtime/plugin-host/wasm/io-abi.ts"
import type { IoCall } from "#runtime/plugin-host/wasm/io-request.ts"

type Binaryen = typeof binaryen
type Module = binaryen.Module
type Expression = binaryen.ExpressionRef

const extism = "extism:host/env"
const wasiBadFile = 8

/** Names of the functions that the linking adds. */
export const glue = {
  fromExchange: "svc_from_exchange",
  toExchange: "svc_to_exchange",
} as const

/** The first letter of the name under which a prelude function calls the host. */
const letters = { config: "c", debug: "d", info: "i", warn: "w", error: "e", http: "h", kv: "k" } as const

/** What the prelude calls. */
export const hostNames = ["config", "debug", "info", "warn", "error"] as const

/** Functions of QuickJS by the names under which it exports them. */
export type Exported = (name: string, args: ReadonlyArray<Expression>) => Expression

/** `io`: what it asks for beyond what every policy has. */
export const importPolicyInterface = (b: Binaryen, m: Module, io: ReadonlyArray<IoCall>): void => {
  const offer = (name: string, params: ReadonlyArray<number>, result: number, module = extism) =>
    m.addFunctionImport(name, module, name, b.createType([...params]), result)
  offer("input_length", [], b.i64)
  offer("input_offset", [], b.i64)
  offer("length", [b.i64], b.i64)
  offer("alloc", [b.i64], b.i64)
  offer("load_u8", [b.i64], b.i32)
  offer("load_u64", [b.i64], b.i64)
  offer("store_u8", [b.i64, b.i32], b.none)
  offer("store_u64", [b.i64, b.i64], b.none)
  offer("output_set", [b.i64, b.i64], b.none)
  offer("error_set", [b.i64], b.none)
  offer("config_get", [b.i64], b.i64)
  for (const level of ["debug", "info", "warn", "error"]) offer(`log_${level}`, [b.i64], b.none)
  for (const call of io) offer(call, [b.i64], b.i64, ioModule)
}

/** Bytes between the exchange and QuickJS, eight at a time: each call of the host has its price. */
export const addCopying = (b: Binaryen, m: Module, exported: Exported): void => {
  const local = (index: number) => m.local.get(index, index === 0 ? b.i64 : b.i32)
  const loop = (length: () => Expression, at: number, step: number, body: Expression): Expression => {
    const label = `by_${step}`
    return m.loop(
      label,
      m.if(
        m.i32.le_u(m.i32.add(m.local.get(at, b.i32), m.i32.const(step)), length()),
        m.block(null, [body, m.local.set(at, m.i32.add(m.local.get(at, b.i32), m.i32.const(step))), m.br(label)]),
      ),
    )
  }
  // (address: i64, length: i32) → a QuickJS string; locals: 2 = buffer, 3 = at
  {
    const source = () => m.i64.add(local(0), m.i64.extend_u(m.local.get(3, b.i32)))
    const target = () => m.i32.add(m.local.get(2, b.i32), m.local.get(3, b.i32))
    m.addFunction(
      glue.fromExchange,
      b.createType([b.i64, b.i32]),
      b.i32,
      [b.i32, b.i32],
      m.block(
        null,
        [
          m.local.set(2, exported("wasm_malloc", [m.i32.add(local(1), m.i32.const(1))])),
          m.if(m.i32.eqz(m.local.get(2, b.i32)), m.unreachable()),
          loop(() => local(1), 3, 8, m.i64.store(0, 1, target(), m.call("load_u64", [source()], b.i64))),
          loop(() => local(1), 3, 1, m.i32.store8(0, 1, target(), m.call("load_u8", [source()], b.i32))),
          m.i32.store8(0, 1, target(), m.i32.const(0)),
          exported("qjs_new_string", [m.local.get(2, b.i32), local(1)]),
        ],
        b.i32,
      ),
    )
  }
  // (a QuickJS value: i32) → address: i64; locals: 1 = address, 2 = text, 3 = length, 4 = at
  {
    const value = () => m.local.get(0, b.i32)
    const address = () => m.local.get(1, b.i64)
    const at = () => m.local.get(4, b.i32)
    const source = () => m.i32.add(m.local.get(2, b.i32), at())
    const target = () => m.i64.add(address(), m.i64.extend_u(at()))
    const length = () => m.local.get(3, b.i32)
    m.addFunction(
      glue.toExchange,
      b.createType([b.i32]),
      b.i64,
      [b.i64, b.i32, b.i32, b.i32],
      m.block(
        null,
        [
          m.local.set(4, exported("wasm_malloc", [m.i32.const(4)])),
          m.local.set(2, exported("qjs_get_string_len", [value(), at()])),
          m.if(m.i32.eqz(m.local.get(2, b.i32)), m.unreachable()),
          m.local.set(3, m.i32.load(0, 4, at())),
          m.local.set(4, m.i32.const(0)),
          m.local.set(1, m.call("alloc", [m.i64.extend_u(length())], b.i64)),
          loop(length, 4, 8, m.call("store_u64", [target(), m.i64.load(0, 1, source())], b.none)),
          loop(length, 4, 1, m.call("store_u8", [target(), m.i32.load8_u(0, 1, source())], b.none)),
          address(),
        ],
        b.i64,
      ),
    )
  }
}

/** What each import of QuickJS is from now on. */
export const constantImports = (
  b: Binaryen,
  m: Module,
  exported: Exported,
  io: ReadonlyArray<IoCall>,
): ReadonlyMap<string, Expression> =>
  new Map<string, Expression>([
    ["env.host_get_timezone_offset", m.i32.const(0)],
    ["env.host_interrupt", m.i32.const(0)],
    ["env.host_promise_rejection", m.nop()],
    ["env.host_module_normalize", m.i32.const(0)],
    ["env.host_module_load", m.i32.const(0)],
    ["env.host_call", hostCall(b, m, exported, io)],
    // always the same moment: what is asked for the time throws before it gets here
    [
      "wasi_snapshot_preview1.clock_time_get",
      m.block(null, [m.i64.store(0, 1, m.local.get(2, b.i32), m.i64.const(0n)), m.i32.const(0)], b.i32),
    ],
    [
      "wasi_snapshot_preview1.random_get",
      m.block(
        null,
        [m.memory.fill(m.local.get(0, b.i32), m.i32.const(0), m.local.get(1, b.i32)), m.i32.const(0)],
        b.i32,
      ),
    ],
    ["wasi_snapshot_preview1.fd_close", m.i32.const(wasiBadFile)],
    ["wasi_snapshot_preview1.fd_fdstat_get", m.i32.const(wasiBadFile)],
    ["wasi_snapshot_preview1.fd_seek", m.i32.const(wasiBadFile)],
    ["wasi_snapshot_preview1.fd_write", m.i32.const(wasiBadFile)],
  ])

/** (name, name's length, this, argument count, arguments) → a QuickJS value: what the preludes call. */
const hostCall = (b: Binaryen, m: Module, exported: Exported, io: ReadonlyArray<IoCall>): Expression => {
  const letter = (is: string) => m.i32.eq(m.i32.load8_u(0, 1, m.local.get(0, b.i32)), m.i32.const(is.charCodeAt(0)))
  const argument = () => m.call(glue.toExchange, [m.i32.load(0, 4, m.local.get(4, b.i32))], b.i64)
  const nothing = () => exported("qjs_get_undefined", [])
  // i64 results need a local: functions that replace imports have one, index 5
  const found = () => m.local.get(5, b.i64)
  const text = () => m.call(glue.fromExchange, [found(), m.i32.wrap(m.call("length", [found()], b.i64))], b.i32)
  const asks = io.map((call) =>
    m.if(letter(letters[call]), m.block(null, [m.local.set(5, m.call(call, [argument()], b.i64)), m.return(text())])),
  )
  const log = (["debug", "info", "warn", "error"] as const).map((level) =>
    m.if(letter(letters[level]), m.call(`log_${level}`, [argument()], b.none)),
  )
  return m.block(
    null,
    [
      m.if(
        letter(letters.config),
        m.block(null, [
          m.local.set(5, m.call("config_get", [argument()], b.i64)),
          m.if(m.i64.ne(found(), m.i64.const(0n)), m.return(text())),
        ]),
      ),
      ...log,
      ...asks,
      nothing(),
    ],
    b.i32,
  )
}
