/** What one call of a policy has: its input, its answer, its log lines, and the bounds of all three. */
import { Exchange } from "#runtime/plugin-host/wasm/exchange.ts"
import { HostFault } from "#runtime/plugin-host/wasm/fault.ts"
import { noIo, type PolicyIo } from "#runtime/plugin-host/wasm/io-request.ts"

export const logLevels = ["trace", "debug", "info", "warn", "error"] as const
export type LogLevel = (typeof logLevels)[number]

export interface LogLine {
  readonly level: LogLevel
  readonly message: string
}

/** Lines of one call that are kept, and bytes of a line; the rest is cut. */
const mostLogLines = 32
const mostLogBytes = 2_000

export interface PolicyLimits {
  /** Units of fuel of one call. */
  readonly fuel: number
  readonly stackBytes: number
  readonly inputBytes: number
  readonly answerBytes: number
  /** Objects and arrays within each other in an answer. */
  readonly answerDepth: number
  /** All that the policy allocates in the exchange, its input apart. */
  readonly exchangeBytes: number
}

export const defaultPolicyLimits: PolicyLimits = {
  fuel: 10_000_000,
  stackBytes: 512 * 1024,
  inputBytes: 64 * 1024,
  answerBytes: 64 * 1024,
  answerDepth: 64,
  exchangeBytes: 1024 * 1024,
}

const lenient = new TextDecoder("utf-8")

export class PolicyCall {
  readonly exchange: Exchange
  readonly inputAddress: number
  readonly inputSize: number
  readonly config: ReadonlyMap<string, string>
  readonly io: PolicyIo
  readonly logs: Array<LogLine> = []
  answer: Uint8Array | undefined
  error: string | undefined
  readonly #limits: PolicyLimits

  constructor(input: Uint8Array, config: ReadonlyMap<string, string>, limits: PolicyLimits, io = noIo) {
    this.exchange = new Exchange(limits.exchangeBytes + input.length)
    this.inputAddress = this.exchange.store(input)
    this.inputSize = input.length
    this.config = config
    this.io = io
    this.#limits = limits
  }

  loadInputByte(at: number): number {
    return this.exchange.loadByte(this.#inputAt(at, 1))
  }

  loadInputWord(at: number): bigint {
    return this.exchange.loadWord(this.#inputAt(at, 8))
  }

  setAnswer(address: number, size: number): void {
    const most = this.#limits.answerBytes
    if (size > most)
      throw new HostFault("answer_too_large", `the answer has ${size} bytes, at most ${most} are allowed`)
    this.answer = this.exchange.read(address, size)
  }

  setError(address: number): void {
    this.error = lenient.decode(this.exchange.read(address, Math.min(this.exchange.sizeOf(address), mostLogBytes)))
  }

  log(level: LogLevel, address: number): void {
    if (this.logs.length >= mostLogLines) return
    const size = Math.min(this.exchange.sizeOf(address), mostLogBytes)
    this.logs.push({ level, message: size === 0 ? "" : lenient.decode(this.exchange.read(address, size)) })
  }

  #inputAt(at: number, size: number): number {
    if (!(at >= 0 && at + size <= this.inputSize))
      throw new HostFault("host_error", `the input has no ${size} bytes at ${at}`)
    return this.inputAddress + at
  }
}
