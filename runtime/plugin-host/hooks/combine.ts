/** Makes one answer of many, by the rule of the question's kind. Nothing here records or counts. */
import { Effect, Schema } from "effect"
import { canonicalJson } from "#core/canonical-json.ts"
import { type AnyQuestion, alwaysClosed, GuardAnswer } from "#core/hook.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import type { Call, Outcome } from "#runtime/plugin-host/hooks/call.ts"
import type { Registered } from "#runtime/plugin-host/hooks/registry.ts"

export interface Combined {
  /** Decoded. */
  readonly answer: unknown
  /** Whose answer it is; undefined for the service's own. */
  readonly decider: Outcome | undefined
  /** All that were asked, in order. */
  readonly outcomes: ReadonlyArray<Outcome>
  /** There is no answer: a plugin that must not be left out could not give one. */
  readonly refusal?: Refusal
}

/** Guards that are asked at the same time. */
const guardConcurrency = 8

export const combine = (
  question: AnyQuestion,
  input: unknown,
  handlers: ReadonlyArray<Registered>,
  call: Call,
): Effect.Effect<Combined> => {
  switch (question.kind) {
    case "decide":
      return decide(question, input, handlers, call)
    case "guard":
      return guard(question, input, handlers, call)
    case "refine":
      return refine(question, input, handlers, call)
  }
}

/** The question as every plugin gets it: canonical JSON. An input of another form is a defect of whoever asks. */
export const askText = (question: AnyQuestion, input: unknown): string =>
  canonicalJson(Schema.encodeUnknownSync(question.ask)(input))

const failsClosed = (question: AnyQuestion, { failure }: Registered): boolean =>
  failure === "closed" || alwaysClosed(question)

const decide = Effect.fnUntraced(function* (
  question: Extract<AnyQuestion, { kind: "decide" }>,
  input: unknown,
  handlers: ReadonlyArray<Registered>,
  call: Call,
) {
  const text = askText(question, input)
  const outcomes: Array<Outcome> = []
  for (const handler of handlers) {
    const outcome = yield* call(question, handler, text)
    outcomes.push(outcome)
    if (outcome._tag === "Answered") return { answer: outcome.answer, decider: outcome, outcomes }
    if (outcome._tag === "Faulted" && failsClosed(question, handler)) {
      const { safe = question.builtIn } = question
      return { answer: safe(input, describe(outcome)), decider: undefined, outcomes }
    }
  }
  return { answer: question.builtIn(input), decider: undefined, outcomes }
})

const guard = Effect.fnUntraced(function* (
  question: Extract<AnyQuestion, { kind: "guard" }>,
  input: unknown,
  handlers: ReadonlyArray<Registered>,
  call: Call,
) {
  const text = askText(question, input)
  const builtIn = question.builtIn(input)
  const outcomes = yield* Effect.forEach(handlers, (handler) => call(question, handler, text), {
    concurrency: guardConcurrency,
  })
  if (builtIn.decision === "refuse") return { answer: builtIn, decider: undefined, outcomes }
  for (const outcome of outcomes) {
    const answer = guardAnswer(outcome)
    if (answer.decision === "refuse") {
      return { answer, decider: outcome._tag === "Answered" ? outcome : undefined, outcomes }
    }
  }
  return { answer: builtIn, decider: undefined, outcomes }
})

const isGuardAnswer = Schema.is(GuardAnswer)

const guardAnswer = (outcome: Outcome): GuardAnswer => {
  if (outcome._tag === "Abstained") return { decision: "allow" }
  if (outcome._tag === "Answered" && isGuardAnswer(outcome.answer)) return outcome.answer
  const reason = outcome._tag === "Faulted" ? describe(outcome) : "its answer cannot be read"
  return {
    decision: "refuse",
    reason: `A policy that has to be asked could not answer: ${reason}`,
    policy: outcome.by.plugin,
  }
}

const refine = Effect.fnUntraced(function* (
  question: Extract<AnyQuestion, { kind: "refine" }>,
  input: unknown,
  handlers: ReadonlyArray<Registered>,
  call: Call,
) {
  let ask: unknown = input
  let answer: unknown = question.builtIn(input)
  let decider: Outcome | undefined
  const outcomes: Array<Outcome> = []
  for (const handler of handlers) {
    const outcome = yield* call(question, handler, askText(question, ask))
    outcomes.push(outcome)
    if (outcome._tag === "Faulted" && failsClosed(question, handler)) {
      const refusal = refuse("plugin_unavailable", {
        message: `${question.name} cannot be answered: ${describe(outcome)}`,
        extra: { plugin: handler.plugin, question: question.name },
      })
      return { answer, decider: undefined, outcomes, refusal }
    }
    if (outcome._tag !== "Answered") continue
    answer = outcome.answer
    ask = question.refined(ask, answer)
    decider = outcome
  }
  return { answer, decider, outcomes }
})

const describe = ({ by, fault }: Extract<Outcome, { _tag: "Faulted" }>): string =>
  `${by.plugin} (${fault.reason}): ${fault.message}`
