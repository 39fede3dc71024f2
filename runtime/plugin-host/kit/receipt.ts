/**
 * Checks a receipt: asks the policy that a recorded decision names the recorded question again, and says what is not as recorded. Fuel
 * is part of it: the same module spends the same fuel on every machine.
 */
import { canonicalJson, sha256 } from "#core/canonical-json.ts"
import { questionNamed } from "#policies/questions.ts"
import type { Candidate, Reply } from "#runtime/plugin-host/kit/candidate.ts"
import type { Recorded } from "#runtime/plugin-host/kit/recorded.ts"

export interface Difference {
  readonly what: "module" | "abi" | "question" | "input" | "answer" | "fuel"
  readonly recorded: string
  readonly found: string
}

export interface ReceiptCheck {
  readonly runId: string
  readonly sequence: number
  readonly question: string
  readonly plugin: string
  readonly digest: string
  /** None: the receipt is true. */
  readonly differences: ReadonlyArray<Difference>
}

/** `config`: the settings that the policy was granted then; they are not part of a receipt. */
export const verifyReceipt = (
  candidate: Candidate,
  { runId, sequence, decision }: Recorded,
  config: ReadonlyMap<string, string> = new Map(),
): ReceiptCheck => {
  const { question, plugin, digest } = decision
  const about = { runId, sequence, question, plugin, digest: digest ?? "none" }
  const differ = (what: Difference["what"], recorded: string, found: string): ReadonlyArray<Difference> =>
    recorded === found ? [] : [{ what, recorded, found }]
  const module = [
    ...differ("module", digest ?? "none: the service itself, or code of its process", candidate.digest),
    ...differ("abi", String(decision.abi), String(candidate.abi)),
  ]
  if (module.length > 0) return { ...about, differences: module }
  const known = questionNamed(question)
  if (known === undefined || !candidate.answers(question)) {
    return { ...about, differences: [{ what: "question", recorded: question, found: "the policy does not answer it" }] }
  }
  const input = canonicalJson(decision.input)
  const asked = [
    ...(decision.input_complete
      ? []
      : [
          {
            what: "input",
            recorded: decision.input_hash,
            found: "only a part of it: the record is redacted or cut",
          } as const,
        ]),
    ...differ("input", decision.input_hash, sha256(input)),
  ]
  if (asked.length > 0) return { ...about, differences: asked }
  const reply = candidate.ask(known, input, config)
  return {
    ...about,
    differences: [
      ...differ("answer", canonicalJson(decision.answer), answerOf(reply, plugin)),
      ...differ("fuel", String(decision.fuel), String(reply.fuel)),
    ],
  }
}

/** As the service keeps it: a refusal bears the name of its policy. */
const answerOf = (reply: Reply, plugin: string): string => {
  if (reply.kind === "fault") return `a fault: ${reply.reason}: ${reply.message}`
  const { answer } = reply.kind === "answered" ? reply : { answer: null }
  if (reply.kind === "no opinion") return reply.text
  const refusal = typeof answer === "object" && answer !== null && "decision" in answer && answer.decision === "refuse"
  return refusal ? canonicalJson({ ...answer, policy: plugin }) : reply.text
}
