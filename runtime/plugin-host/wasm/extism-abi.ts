/**
 * The host functions of the Extism interface that a pure policy may import: its input and answer, the exchange
 * memory, its configuration and its log. No variables, no HTTP, no clock, no randomness: those are not granted, so a module that
 * imports them is refused. Every function is deterministic, checks what it is given, and is paid for.
 */
import { HostFault } from "#runtime/plugin-host/wasm/fault.ts"
import type { Grant } from "#runtime/plugin-host/wasm/grants.ts"
import type { HostFunction } from "#runtime/plugin-host/wasm/instance.ts"
import { ioOffers } from "#runtime/plugin-host/wasm/io-abi.ts"
import { grantOf, type Offer, type PolicyHost, payFor } from "#runtime/plugin-host/wasm/offer.ts"
import { logLevels } from "#runtime/plugin-host/wasm/policy-call.ts"
import type { ValueType } from "#runtime/plugin-host/wasm/value-type.ts"

export type { PolicyHost } from "#runtime/plugin-host/wasm/offer.ts"

export const extismModule = "extism:host/env"

/** Fuel of a call that moves a few bytes; and of one that copies or decodes, which also pays by length. */
const small = 50
const large = 500
/** Longest name of a configuration value that is looked up. */
const mostKeyBytes = 256

const utf8 = new TextEncoder()
const lenient = new TextDecoder("utf-8")

const offer = (
  name: string,
  params: ReadonlyArray<ValueType>,
  results: ReadonlyArray<ValueType>,
  cost: number,
  implement: Offer["implement"],
): Offer => ({ module: extismModule, name, params, results, price: cost, implement })

/** Addresses are unsigned in the interface; those with the highest bit set are no address of ours, and negative here. */
const address = (value: bigint): number => Number(value)

const blockLength = (host: PolicyHost) => (at: bigint) => BigInt(host.call.exchange.sizeOf(address(at)))

const offers: ReadonlyArray<Offer> = [
  offer("input_length", [], ["i64"], small, (host) => () => BigInt(host.call.inputSize)),
  offer("input_offset", [], ["i64"], small, (host) => () => BigInt(host.call.inputAddress)),
  offer("input_load_u8", ["i64"], ["i32"], small, (host) => (at: bigint) => host.call.loadInputByte(address(at))),
  offer("input_load_u64", ["i64"], ["i64"], small, (host) => (at: bigint) => host.call.loadInputWord(address(at))),
  offer("alloc", ["i64"], ["i64"], small, (host) => (size: bigint) => {
    const bytes = Number(BigInt.asUintN(64, size))
    const at = host.call.exchange.allocate(bytes)
    payFor(host, bytes)
    return BigInt(at)
  }),
  offer("free", ["i64"], [], small, (host) => (at: bigint) => {
    payFor(host, host.call.exchange.sizeOf(address(at)))
    host.call.exchange.free(address(at))
  }),
  offer("length", ["i64"], ["i64"], small, blockLength),
  offer("length_unsafe", ["i64"], ["i64"], small, blockLength),
  offer("load_u8", ["i64"], ["i32"], small, (host) => (at: bigint) => host.call.exchange.loadByte(address(at))),
  offer("load_u64", ["i64"], ["i64"], small, (host) => (at: bigint) => host.call.exchange.loadWord(address(at))),
  offer("store_u8", ["i64", "i32"], [], small, (host) => (at: bigint, value: number) => {
    host.call.exchange.storeByte(address(at), value)
  }),
  offer("store_u64", ["i64", "i64"], [], small, (host) => (at: bigint, value: bigint) => {
    host.call.exchange.storeWord(address(at), value)
  }),
  offer("output_set", ["i64", "i64"], [], large, (host) => (at: bigint, size: bigint) => {
    const bytes = Number(BigInt.asUintN(64, size))
    host.call.setAnswer(address(at), bytes)
    payFor(host, bytes)
  }),
  offer("error_set", ["i64"], [], large, (host) => (at: bigint) => {
    host.call.setError(address(at))
  }),
  offer("config_get", ["i64"], ["i64"], large, (host) => (at: bigint) => {
    const size = host.call.exchange.sizeOf(address(at))
    const key =
      size === 0 || size > mostKeyBytes ? undefined : lenient.decode(host.call.exchange.read(address(at), size))
    host.call.exchange.free(address(at))
    const value = key === undefined ? undefined : host.call.config.get(key)
    if (value === undefined) return 0n
    const bytes = utf8.encode(value)
    payFor(host, bytes.length)
    return BigInt(host.call.exchange.store(bytes))
  }),
  ...logLevels.map((level) =>
    offer(`log_${level}`, ["i64"], [], 2 * large, (host) => (at: bigint) => {
      host.call.log(level, address(at))
      host.call.exchange.free(address(at))
    }),
  ),
  // Every level is logged: an answer must not depend on how the service is configured to log.
  offer("get_log_level", [], ["i32"], small, () => () => 0),
  {
    // What AssemblyScript calls when it gives up, unless it is compiled with another abort.
    module: "env",
    name: "abort",
    params: ["i32", "i32", "i32", "i32"],
    results: [],
    price: large,
    implement: (host) => (message: number, file: number, line: number, column: number) => {
      const text = assemblyScriptText(host, message)
      throw new HostFault("aborted", `${text} (${assemblyScriptText(host, file)}:${line}:${column})`)
    },
  },
]

/** What every policy is granted. */
export const policyGrants: ReadonlyArray<Grant> = offers.map(grantOf)

/** Fresh functions for one host: also those that few policies are granted, and no other can import. */
export const policyFunctions = (host: PolicyHost): Map<string, Map<string, HostFunction>> => {
  const modules = new Map<string, Map<string, HostFunction>>()
  for (const { module, name, implement } of [...offers, ...ioOffers]) {
    const functions = modules.get(module) ?? new Map<string, HostFunction>()
    functions.set(name, implement(host))
    modules.set(module, functions)
  }
  return modules
}

/** A string of AssemblyScript: UTF-16, its length in bytes in the four bytes before it. */
const assemblyScriptText = (host: PolicyHost, pointer: number): string => {
  const memory = host.instance?.memory
  if (memory === undefined) return ""
  const at = pointer >>> 0
  if (at < 4 || at > memory.length) return ""
  const view = new DataView(memory.buffer)
  const size = Math.min(view.getUint32(at - 4, true), 400, memory.length - at) & ~1
  return new TextDecoder("utf-16le").decode(memory.subarray(at, at + size))
}
