/**
 * Asks a candidate what was asked before, and says what would have been decided otherwise. Pure but for the asking: the same records and
 * the same candidate give the same report, byte for byte.
 *
 * A candidate is compared with what the policy of the same name said then, where it was asked; else with the answer that counted. Where it
 * has no opinion, the service's own answer is meant; where it cannot answer, the safe one.
 */
import { Option, Schema } from "effect"
import { canonicalJson } from "#core/canonical-json.ts"
import { type AnyQuestion, agree } from "#core/hook.ts"
import { questionNamed } from "#policies/questions.ts"
import type { Candidate, Reply } from "#runtime/plugin-host/kit/candidate.ts"
import type { Decision, Recorded } from "#runtime/plugin-host/kit/recorded.ts"

export interface Change {
  readonly runId: string
  readonly sequence: number
  readonly question: string
  readonly recorded: unknown
  readonly candidate: unknown
  /** A guard refuses what it allowed, or allows what it refused. */
  readonly refusal: boolean
  /** Why the candidate could not answer, where it could not. */
  readonly fault: string | null
}

export interface BacktestReport {
  readonly candidate: { readonly name: string; readonly version: string; readonly digest: string }
  /** Decisions that were asked again. */
  readonly asked: number
  readonly agreed: number
  readonly changes: ReadonlyArray<Change>
  /** Asked, and not answered for lack of fuel, memory, or by an error of the policy. */
  readonly faults: number
  readonly skipped: {
    /** On questions that the candidate does not answer. */
    readonly otherQuestions: number
    /** The record does not hold the question as it was asked: secrets were taken out, or it was cut. */
    readonly incomplete: number
    /** The question has another form in this version of svc. */
    readonly otherForm: number
    /** The candidate called a host or used what it keeps: what it would answer in a service is not known here. */
    readonly withIo: number
  }
  readonly refusalsChanged: number
}

/** `config`: the settings that the candidate is asked with. */
export const backtest = (
  candidate: Candidate,
  records: ReadonlyArray<Recorded>,
  config: ReadonlyMap<string, string> = new Map(),
): BacktestReport => {
  const changes: Array<Change> = []
  const skipped = { otherQuestions: 0, incomplete: 0, otherForm: 0, withIo: 0 }
  let asked = 0
  let faults = 0
  for (const { runId, sequence, decision } of records) {
    const question = questionNamed(decision.question)
    if (question === undefined || question.kind === "refine" || !candidate.answers(decision.question)) {
      skipped.otherQuestions++
      continue
    }
    if (!decision.input_complete) {
      skipped.incomplete++
      continue
    }
    const input = canonicalJson(decision.input)
    const ask = decoded(question.ask, decision.input)
    const before = decoded(question.answer, answerOf(candidate, decision, ask, question))
    if (Option.isNone(ask) || Option.isNone(before)) {
      skipped.otherForm++
      continue
    }
    const reply = candidate.ask(question, input, config)
    if (reply.io > 0) {
      skipped.withIo++
      continue
    }
    asked++
    if (reply.kind === "fault") faults++
    const after = answerIn(question, ask.value, reply)
    if (agree(question, before.value, after)) continue
    changes.push({
      runId,
      sequence,
      question: question.name,
      recorded: encoded(question, before.value),
      candidate: encoded(question, after),
      refusal: question.kind === "guard",
      fault: reply.kind === "fault" ? `${reply.reason}: ${reply.message}` : null,
    })
  }
  const { name, version, digest } = candidate
  const refusalsChanged = changes.filter(({ refusal }) => refusal).length
  return {
    candidate: { name, version, digest },
    asked,
    agreed: asked - changes.length,
    changes,
    faults,
    skipped,
    refusalsChanged,
  }
}

const decoded = (schema: Schema.Codec<unknown, unknown>, value: unknown): Option.Option<unknown> =>
  Schema.decodeUnknownOption(schema)(value)

const encoded = (question: AnyQuestion, answer: unknown): unknown => Schema.encodeUnknownSync(question.answer)(answer)

/** What the policy of this name said then; null is no opinion, and means what the service would have said. */
const answerOf = (
  { name }: Candidate,
  decision: Decision,
  ask: Option.Option<unknown>,
  question: AnyQuestion,
): unknown => {
  if (decision.plugin === name) return decision.answer
  const consulted = decision.consulted.find(({ plugin }) => plugin === name)
  if (consulted === undefined) return decision.answer
  if (consulted.answer !== null) return consulted.answer
  return Option.isSome(ask) ? encoded(question, question.builtIn(ask.value)) : null
}

const answerIn = (question: AnyQuestion, ask: unknown, reply: Reply): unknown => {
  if (reply.kind === "answered") return reply.answer
  if (reply.kind === "no opinion") return question.builtIn(ask)
  if (question.kind === "guard") return { decision: "refuse", reason: `${reply.reason}: ${reply.message}` }
  return question.kind === "decide" && question.safe !== undefined
    ? question.safe(ask, reply.reason)
    : question.builtIn(ask)
}
