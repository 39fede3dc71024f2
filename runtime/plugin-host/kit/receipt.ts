/**
 * Checks a receipt: asks a policy that a record names the recorded question again, and says what is not as recorded. Fuel is part
 * of it: the same module spends the same fuel on every machine.
 */
import { canonicalJson, sha256 } from "#core/canonical-json.ts"
import type { AnyQuestion } from "#core/hook.ts"
import { questionNamed } from "#policies/questions.ts"
import type { Candidate, Reply } from "#runtime/plugin-host/kit/candidate.ts"
import { isObject } from "#runtime/plugin-host/kit/folder.ts"
import type { Decision, Recorded } from "#runtime/plugin-host/kit/recorded.ts"

/** What one policy in WebAssembly answered. */
export interface Receipt {
  readonly plugin: string
  readonly version: string | null
  /** `sha256:` and the digest of the module. */
  readonly digest: string
  readonly abi: number | null
  /** Null: no opinion. */
  readonly answer: unknown
  readonly fuel: number | null
  /** How often it called a host or used what it keeps; absent where it did not. */
  readonly io?: Decision["io"]
  /** Was this the answer that counted, or was it only asked? */
  readonly decided: boolean
}

export interface Difference {
  readonly what: "module" | "abi" | "io" | "question" | "input" | "answer" | "fuel"
  readonly recorded: string
  readonly found: string
}

export interface ReceiptCheck {
  readonly plugin: string
  readonly version: string | null
  readonly digest: string
  readonly decided: boolean
  /** None: the receipt is true. */
  readonly differences: ReadonlyArray<Difference>
}

/**
 * Of every policy in WebAssembly that had a say in a decision: the one that decided, and those that were asked beside it. Where a
 * guard was allowed, the service is what decided, and all policies are of the second kind.
 */
export const receiptsIn = ({ decision }: Pick<Recorded, "decision">): ReadonlyArray<Receipt> => [
  ...receiptOf(decision, true),
  ...decision.consulted.flatMap((consulted) => receiptOf(consulted, false)),
]

const receiptOf = (
  { plugin, version, digest, abi, answer, fuel, io }: Decision | Decision["consulted"][number],
  decided: boolean,
): ReadonlyArray<Receipt> =>
  digest === null ? [] : [{ plugin, version, digest, abi, answer, fuel, decided, ...(io === undefined ? {} : { io }) }]

/**
 * The record with members of the question that it does not hold, from whoever still has them. Undefined where that is not the question
 * that was asked.
 */
export const withInput = (record: Recorded, given: Readonly<Record<string, unknown>>): Recorded | undefined => {
  const { decision } = record
  const held = isObject(decision.input) ? decision.input : {}
  const input = { ...held, ...given }
  return sha256(canonicalJson(input)) === decision.input_hash
    ? { ...record, decision: { ...decision, input, input_complete: true } }
    : undefined
}

/** `config`: the settings that the policy was granted then; they are not part of a receipt. */
export const verifyReceipt = (
  candidate: Candidate,
  { decision }: Pick<Recorded, "decision">,
  receipt: Receipt,
  config: ReadonlyMap<string, string> = new Map(),
): ReceiptCheck => {
  const { plugin, version, digest, decided } = receipt
  return { plugin, version, digest, decided, differences: differences(candidate, decision, receipt, config) }
}

const differences = (
  candidate: Candidate,
  decision: Decision,
  receipt: Receipt,
  config: ReadonlyMap<string, string>,
): ReadonlyArray<Difference> => {
  const module = [
    ...differ("module", receipt.digest, candidate.digest),
    ...differ("abi", String(receipt.abi), String(candidate.abi)),
  ]
  if (module.length > 0) return module
  if (receipt.io !== undefined) {
    const { calls, digest } = receipt.io
    return differ("io", `${calls} calls (${digest})`, "nothing to ask again with: what was answered to it is not kept")
  }
  const question = questionNamed(decision.question)
  if (question === undefined || !candidate.answers(question.name)) {
    return [{ what: "question", recorded: decision.question, found: "the policy does not answer it" }]
  }
  const input = canonicalJson(decision.input)
  const asked = decision.input_complete
    ? differ("input", decision.input_hash, sha256(input))
    : differ("input", decision.input_hash, "only a part of it: redacted, cut or withheld (give the rest: --input)")
  if (asked.length > 0) return asked
  const reply = candidate.ask(question, input, config)
  return [
    ...differ("answer", canonicalJson(receipt.answer), answerOf(question, reply, receipt.plugin)),
    ...(receipt.fuel === null ? [] : differ("fuel", String(receipt.fuel), String(reply.fuel))),
  ]
}

const differ = (what: Difference["what"], recorded: string, found: string): ReadonlyArray<Difference> =>
  recorded === found ? [] : [{ what, recorded, found }]

/** As the service keeps it: the refusal of a guard bears the name of its policy. */
const answerOf = (question: AnyQuestion, reply: Reply, plugin: string): string => {
  if (reply.kind === "fault") return `a fault: ${reply.reason}: ${reply.message}`
  if (reply.kind === "no opinion") return reply.text
  const { answer } = reply
  const refusal = question.kind === "guard" && typeof answer === "object" && answer !== null && "reason" in answer
  return refusal ? canonicalJson({ ...answer, policy: plugin }) : reply.text
}
