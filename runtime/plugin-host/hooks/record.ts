/** The events of one ask. */
import { Schema } from "effect"
import { canonicalJson, sha256 } from "#core/canonical-json.ts"
import type { NewEvent } from "#core/event.ts"
import { builtInPolicy, PolicyDecision, PolicyFault, PolicyShadow } from "#core/hook/events.ts"
import { type AnyQuestion, agree } from "#core/hook.ts"
import type { Outcome } from "#runtime/plugin-host/hooks/call.ts"
import type { Combined } from "#runtime/plugin-host/hooks/combine.ts"
import type { Registered } from "#runtime/plugin-host/hooks/registry.ts"
import { version } from "#runtime/version.ts"

const authorOf = ({ plugin, version: own, digest, abi }: Registered) => ({
  plugin,
  version: own,
  digest: digest ?? null,
  abi: abi ?? null,
})

const service = { plugin: builtInPolicy, version, digest: null, abi: null }

const answerOf = (outcome: Outcome): unknown => (outcome._tag === "Answered" ? outcome.encoded : null)

const measuresOf = ({ fuel, io, durationMs }: Outcome) => ({
  fuel,
  duration_ms: durationMs,
  ...(io === undefined ? {} : { io }),
})

/** Faults first, then the decision that was made in spite of them. A refined context is no decision. */
export const decisionEvents = (
  question: AnyQuestion,
  text: string,
  { answer, decider, outcomes }: Combined,
  durationMs: number,
): ReadonlyArray<NewEvent> => {
  const faults = outcomes.flatMap((outcome) => faultEvents(question, text, outcome))
  if (question.kind === "refine") return faults
  const input = keptOf(question, text, answer)
  const event = (complete: boolean) =>
    PolicyDecision.of({
      question: question.name,
      kind: question.kind,
      ...(decider === undefined ? service : authorOf(decider.by)),
      input,
      input_hash: sha256(text),
      input_complete: complete,
      answer: Schema.encodeUnknownSync(question.answer)(answer),
      ...(decider === undefined ? { fuel: null, duration_ms: durationMs } : measuresOf(decider)),
      consulted: outcomes
        .filter((outcome) => outcome !== decider && outcome._tag !== "Faulted")
        .map((outcome) => ({ ...authorOf(outcome.by), answer: answerOf(outcome), ...measuresOf(outcome) })),
    })
  const whole = event(true)
  return [...faults, keeps(whole, text) ? whole : event(false)]
}

/** As JSON value. */
const keptOf = (question: AnyQuestion, text: string, answer: unknown): unknown => {
  const input: unknown = JSON.parse(text)
  // both are decoded with the question's own schemas
  const kept = question.kept as ((ask: unknown, answer: unknown) => unknown) | undefined
  if (kept === undefined) return input
  return Schema.encodeUnknownSync(question.ask)(kept(Schema.decodeUnknownSync(question.ask)(input), answer))
}

/** Is the question still in the event as it was asked, or did redaction, the bound of a payload or the question itself change it? */
const keeps = ({ payload }: NewEvent, text: string): boolean => {
  const stored: { readonly input?: unknown } = JSON.parse(payload)
  return canonicalJson(stored.input) === text
}

export const faultEvents = (question: AnyQuestion, text: string, outcome: Outcome): ReadonlyArray<NewEvent> =>
  outcome._tag === "Faulted"
    ? [
        PolicyFault.of({
          question: question.name,
          ...authorOf(outcome.by),
          mode: outcome.by.mode,
          reason: outcome.fault.reason,
          message: outcome.fault.message,
          input_hash: sha256(text),
          ...measuresOf(outcome),
        }),
      ]
    : []

/** No opinion agrees with nothing: the built-in answer would have counted, whatever it was. */
export const agrees = (question: AnyQuestion, active: unknown, outcome: Outcome): boolean =>
  outcome._tag === "Answered" && agree(question, active, outcome.answer)

export const shadowEvents = (
  question: AnyQuestion,
  text: string,
  active: unknown,
  outcome: Outcome,
): ReadonlyArray<NewEvent> => {
  if (outcome._tag === "Faulted") return faultEvents(question, text, outcome)
  const { plugin, ...author } = authorOf(outcome.by)
  return [
    PolicyShadow.of({
      question: question.name,
      policy: plugin,
      ...author,
      input_hash: sha256(text),
      decision: answerOf(outcome),
      agrees: agrees(question, active, outcome),
      ...measuresOf(outcome),
    }),
  ]
}
