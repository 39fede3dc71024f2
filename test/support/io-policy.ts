/** A small module that asks for what its question says, and answers with what it was answered: in WebAssembly text, for tests. */
import { extismModule } from "#runtime/plugin-host/wasm/extism-abi.ts"
import { ioModule } from "#runtime/plugin-host/wasm/io-abi.ts"
import type { IoCall } from "#runtime/plugin-host/wasm/io-request.ts"
import { wat } from "#test/fixtures/wasm/wat.ts"

/** Exports `answer`: the question is the request, the answer the answer. And one function for each of `addresses`, `at0`, `at1`, …, which asks with that address. */
export const relaying = (call: IoCall, addresses: ReadonlyArray<string> = []): Uint8Array => {
  const answers = (request: string) => `(local $at i64)
      (local.set $at (call $ask ${request}))
      (call $output (local.get $at) (call $length (local.get $at)))
      (i32.const 0)`
  return wat(`(module
    (import "${extismModule}" "input_offset" (func $input (result i64)))
    (import "${extismModule}" "length" (func $length (param i64) (result i64)))
    (import "${extismModule}" "output_set" (func $output (param i64 i64)))
    (import "${ioModule}" "${call}" (func $ask (param i64) (result i64)))
    (memory 1)
    (func (export "answer") (result i32) ${answers("(call $input)")})
    ${addresses
      .map((address, at) => `(func (export "at${at}") (result i32) ${answers(`(i64.const ${address})`)})`)
      .join("\n")})`)
}
