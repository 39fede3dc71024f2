/** A large module that was written by others, for another host: an HTTP parser in C, with and without SIMD. */
import { describe, expect, it } from "vitest"
import { defaultStackBytes, type HostFunctions } from "#runtime/plugin-host/wasm/instance.ts"
import { llhttp, llhttpGrants } from "#test/fixtures/wasm/samples.ts"
import { instantiate, mustAdmit, mustRefuse } from "#test/fixtures/wasm/support.ts"

const budget = { fuel: 10_000_000, stackBytes: defaultStackBytes }
const response = 2
const messages = [
  `HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Long: ${"v".repeat(300)}\r\n\r\nhello`,
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n",
  'HTTP/1.1 304 Not Modified\r\nConnection: keep-alive\r\nETag: "x"\r\n\r\n',
  "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
  "nonsense\r\n\r\n",
]

type Call = (name: string, ...args: ReadonlyArray<number>) => number

/** Calls back into `seen` with what was parsed. */
const callbacks = (
  seen: Array<string>,
  memory: () => Uint8Array,
): ReadonlyMap<string, (...args: Array<number>) => number> =>
  new Map(
    llhttpGrants.map(({ name, params }) => [
      name,
      (...args: Array<number>) => {
        const [, at = 0, length = 0] = args
        seen.push(params.length === 3 ? `${name} ${Buffer.from(memory().subarray(at, at + length)).toString()}` : name)
        return 0
      },
    ]),
  )

const parse = (call: Call, memory: () => Uint8Array, message: string): number => {
  const parser = call("llhttp_alloc", response)
  const bytes = Buffer.from(message)
  const at = call("malloc", bytes.length)
  memory().set(bytes, at)
  return call("llhttp_execute", parser, at, bytes.length)
}

describe.each(["llhttp", "llhttp_simd"] as const)("%s", (variant) => {
  const bytes = llhttp(variant)

  it("is refused without its imports, the first one named", () => {
    expect(mustRefuse(bytes).import).toBe("env.wasm_on_headers_complete")
  })

  it.each(messages)("parses the same, metered and not: %j", (message) => {
    const seenPlain: Array<string> = []
    const plain: WebAssembly.Instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
      env: Object.fromEntries(callbacks(seenPlain, () => plainMemory())),
    })
    const plainMemory = (): Uint8Array => {
      const { memory } = plain.exports
      if (!(memory instanceof WebAssembly.Memory)) throw new Error("no memory")
      return new Uint8Array(memory.buffer)
    }
    const expected = parse(
      (name, ...args) => {
        const target = plain.exports[name]
        if (typeof target !== "function") throw new Error(`no ${name}`)
        return Number(target(...args))
      },
      plainMemory,
      message,
    )

    const seen: Array<string> = []
    const functions: HostFunctions = new Map([["env", callbacks(seen, () => memory())]])
    const metered = instantiate(mustAdmit(bytes, llhttpGrants), functions)
    const memory = (): Uint8Array => metered.memory ?? new Uint8Array()
    let fuelUsed = 0
    const answer = parse(
      (name, ...args) => {
        const exit = metered.call(name, args, budget)
        if (!exit.ok) throw new Error(exit.fault.message)
        fuelUsed += exit.fuelUsed
        return Number(exit.value)
      },
      memory,
      message,
    )
    expect(answer).toBe(expected)
    expect(seen).toEqual(seenPlain)
    expect(fuelUsed).toBeGreaterThan(message.length)
    // A parser of this kind needs some ten instructions a byte.
    expect(fuelUsed).toBeLessThan(5_000 + message.length * 200)
  })
})
