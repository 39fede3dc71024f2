/**
 * Asks a policy one question: JSON in, JSON out, through the Extism interface.
 *
 * An answer depends on the module, the question and the configuration only, and on what it is answered where it may ask: every
 * question meets a new instance, or one set back to what it was when new. Asking again gives the same bytes for the same fuel. Every
 * fault is a value. It blocks its thread until it answers, which fuel bounds and nothing else: a policy with a large budget, or one that
 * may ask, belongs in a thread of its own. It does not check that the answer fits the question.
 */
import { Effect, Schema } from "effect"
import type { Admitted } from "#runtime/plugin-host/wasm/admission.ts"
import { readAnswer } from "#runtime/plugin-host/wasm/answer.ts"
import { type PolicyHost, policyFunctions } from "#runtime/plugin-host/wasm/extism-abi.ts"
import { type Fault, type FaultReason, faultReasons } from "#runtime/plugin-host/wasm/fault.ts"
import { type Compiled, compile, type HostFunctions, Instance } from "#runtime/plugin-host/wasm/instance.ts"
import type { PolicyIo } from "#runtime/plugin-host/wasm/io-request.ts"
import { type LogLine, PolicyCall, type PolicyLimits } from "#runtime/plugin-host/wasm/policy-call.ts"

export const policyFaultReasons = [
  ...faultReasons,
  "input_too_large",
  /** The policy said itself that it failed: by its error, or by answering other than 0. */
  "policy_error",
  /** No answer, or one that is not JSON, not UTF-8, or nested too deep. */
  "bad_answer",
] as const
export type PolicyFaultReason = (typeof policyFaultReasons)[number]

export class PolicyFault extends Schema.TaggedError<PolicyFault>()("PolicyFault", {
  reason: Schema.Literals(policyFaultReasons),
  message: Schema.String,
  fuelUsed: Schema.Int,
}) {}

export interface Question {
  /** The exported function to call: `() -> i32` or `() -> ()`. */
  readonly function: string
  /** JSON. */
  readonly input: string
  readonly config?: ReadonlyMap<string, string>
  /** Serves what a policy with permissions asks for. Absent: everything is answered with a refusal. */
  readonly io?: PolicyIo
  /** Implementations of what was granted beyond `policyGrants`. They answer at once, and should not throw. */
  readonly functions?: HostFunctions
}

export interface PolicyAnswer {
  /** What the JSON says. Not yet checked against the question's schema. */
  readonly value: unknown
  /** The JSON as the policy wrote it. */
  readonly text: string
  readonly fuelUsed: number
  readonly logs: ReadonlyArray<LogLine>
}

export type PolicyExit =
  | ({ readonly ok: true } & PolicyAnswer)
  | {
      readonly ok: false
      readonly reason: PolicyFaultReason
      readonly message: string
      readonly fuelUsed: number
      readonly logs: ReadonlyArray<LogLine>
    }

/** The function of a reactor that runs before any other. */
const initialize = "_initialize"

const utf8 = new TextEncoder()
const noConfig: ReadonlyMap<string, string> = new Map()

export class Policy {
  readonly admitted: Admitted
  readonly #compiled: Compiled
  readonly #limits: PolicyLimits
  /** The instance of the last call that did not fault, set back before it is used again. */
  #spare: Used | undefined

  private constructor(compiled: Compiled, limits: PolicyLimits) {
    this.admitted = compiled.admitted
    this.#compiled = compiled
    this.#limits = limits
  }

  /** Compiles off the calling thread. */
  static load(admitted: Admitted, limits: PolicyLimits): Effect.Effect<Policy> {
    return Effect.promise(() => compile(admitted)).pipe(Effect.map((compiled) => new Policy(compiled, limits)))
  }

  ask(question: Question): Effect.Effect<PolicyAnswer, PolicyFault> {
    return Effect.suspend(() => {
      const exit = this.askNow(question)
      if (exit.ok) return Effect.succeed(exit)
      const { reason, message, fuelUsed } = exit
      return Effect.fail(new PolicyFault({ reason, message, fuelUsed }))
    })
  }

  /** `ask` without Effect, and with the log lines of a call that faulted. */
  askNow(question: Question): PolicyExit {
    const limits = this.#limits
    const input = utf8.encode(question.input)
    if (input.length > limits.inputBytes) {
      const message = `the question has ${input.length} bytes, at most ${limits.inputBytes} are allowed`
      return { ok: false, reason: "input_too_large", message, fuelUsed: 0, logs: [] }
    }
    const call = new PolicyCall(input, question.config ?? noConfig, limits, question.io)
    const ran = this.#run(call, question)
    const { fuelUsed } = ran
    if (!ran.ok) return { ok: false, reason: ran.reason, message: ran.message, fuelUsed, logs: call.logs }
    const answer = readAnswer(call.answer, limits.answerDepth)
    if (!answer.ok) return { ok: false, reason: "bad_answer", message: answer.message, fuelUsed, logs: call.logs }
    return { ok: true, value: answer.value, text: answer.text, fuelUsed, logs: call.logs }
  }

  /** One budget for all that runs: the start function, the initialisation, and the function asked. */
  #run(call: PolicyCall, question: Question): Ran {
    const used = this.#instanceFor(call, question)
    if (!("instance" in used)) return failed(used.reason, used.message, 0)
    const { instance } = used
    const { fuel, stackBytes } = this.#limits
    const steps = [
      (left: number) => instance.start({ fuel: left, stackBytes }),
      ...(this.admitted.exports.some(({ name }) => name === initialize)
        ? [(left: number) => instance.call(initialize, [], { fuel: left, stackBytes })]
        : []),
      (left: number) => instance.call(question.function, [], { fuel: left, stackBytes }),
    ]
    let fuelUsed = 0
    let value: unknown
    for (const step of steps) {
      const exit = step(fuel - fuelUsed)
      fuelUsed += exit.fuelUsed
      if (!exit.ok) return failed(exit.fault.reason, exit.fault.message, fuelUsed)
      value = exit.value
    }
    if (question.functions === undefined) this.#spare = used
    if (call.error !== undefined) return failed("policy_error", call.error, fuelUsed)
    if (value !== undefined && value !== 0) return failed("policy_error", `it answered ${String(value)}`, fuelUsed)
    return { ok: true, fuelUsed }
  }

  /** An instance that no call can tell from a new one. */
  #instanceFor(call: PolicyCall, question: Question): Used | Fault {
    const spare = this.#spare
    this.#spare = undefined
    if (question.functions === undefined && spare?.instance.reset() === true) {
      spare.host.call = call
      return spare
    }
    const host: PolicyHost = { call, instance: undefined }
    const instance = Instance.create(this.#compiled, functionsOf(host, question))
    if (!(instance instanceof Instance)) return instance
    host.instance = instance
    return { host, instance }
  }
}

interface Used {
  readonly host: PolicyHost
  readonly instance: Instance
}

type Ran =
  | { readonly ok: true; readonly fuelUsed: number }
  | {
      readonly ok: false
      readonly reason: FaultReason | "policy_error"
      readonly message: string
      readonly fuelUsed: number
    }

const failed = (reason: FaultReason | "policy_error", message: string, fuelUsed: number): Ran => ({
  ok: false,
  reason,
  message,
  fuelUsed,
})

const functionsOf = (host: PolicyHost, question: Question): HostFunctions => {
  const functions = policyFunctions(host)
  for (const [module, granted] of question.functions ?? [])
    functions.set(module, new Map([...granted, ...(functions.get(module) ?? [])]))
  return functions
}
