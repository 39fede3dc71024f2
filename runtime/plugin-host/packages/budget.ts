/**
 * What one answer of a policy may cost. A manifest sets itself less, or more up to the operator's ceiling.
 *
 * In this thread an answer is bounded by its fuel and memory alone: a clock would make a pure answer depend on the machine. What has
 * more fuel than `foregroundFuel`, or does input and output, runs in a thread of its own, where the wall clock ends it too.
 */
import { defaultLimits, type Limits, pageBytes } from "#runtime/plugin-host/wasm/limits.ts"
import { defaultPolicyLimits, type PolicyLimits } from "#runtime/plugin-host/wasm/policy-call.ts"

export interface Budget {
  /** Bytes of linear memory; a multiple of 64 KiB. */
  readonly memory: number
  /** Units of fuel of one answer. */
  readonly fuel: number
  /** Bytes of a question. */
  readonly input: number
  /** Bytes of an answer. */
  readonly output: number
  /** Milliseconds of waiting for an instance; in a thread of its own, of the answer too. */
  readonly wallClock: number
}

const kibibyte = 1_024
const mebibyte = 1_024 * kibibyte

export const defaultBudget: Budget = {
  memory: 16 * mebibyte,
  fuel: 10_000_000,
  input: 64 * kibibyte,
  output: 64 * kibibyte,
  wallClock: 50,
}

/** The most that a manifest may ask for where the operator says nothing else. */
export const defaultCeiling: Budget = {
  memory: 64 * mebibyte,
  fuel: 1_000_000_000,
  input: mebibyte,
  output: mebibyte,
  wallClock: 2_000,
}

/** Smallest sensible values: below them no policy can run. */
export const leastBudget: Budget = { memory: pageBytes, fuel: 1_000, input: 256, output: 64, wallClock: 1 }

/** Above this an answer holds up the whole process for too long. */
export const foregroundFuel = 20_000_000

export const moduleLimits = ({ memory }: Budget): Limits => ({ ...defaultLimits, memoryPages: memory / pageBytes })

export const callLimits = ({ fuel, input, output }: Budget): PolicyLimits => ({
  ...defaultPolicyLimits,
  fuel,
  inputBytes: input,
  answerBytes: output,
  exchangeBytes: Math.max(defaultPolicyLimits.exchangeBytes, 4 * (input + output)),
})
