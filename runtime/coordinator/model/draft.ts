/** The contract of the drafter: what it is asked, and what of its answer is taken. */
import { Option, Schema } from "effect"
import type { Draft } from "#runtime/coordinator/change.ts"
import { jsonIn } from "#runtime/coordinator/model/json-in.ts"
import { envelope } from "#runtime/coordinator/model/prompt.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"

/** Characters of one part of a spec. */
const maxPart = 8_000

/** Models write lists where text is asked for. */
const Prose = Schema.Union([Schema.String, Schema.Array(Schema.String)])

const Answer = Schema.Struct({
  desired_outcome: Prose,
  scope: Schema.optionalKey(Schema.NullOr(Prose)),
  assumptions: Schema.optionalKey(Schema.NullOr(Prose)),
  clarifying_questions: Schema.optionalKey(Schema.NullOr(Prose)),
})

const decode = Schema.decodeUnknownOption(Answer)

export const draftQuestion = ({ run, spec }: Pick<CoordinatorState, "run" | "spec">): string =>
  envelope({
    goal: run.goal,
    ...(spec === null || spec.feedback.length === 0
      ? {}
      : {
          last_draft: {
            desired_outcome: spec.desiredOutcome,
            scope: spec.scope,
            assumptions: spec.assumptions,
            clarifying_questions: spec.clarifyingQuestions,
          },
          feedback: spec.feedback,
        }),
  })

/** Undefined: it is no answer to the question. */
export const draftIn = (answer: string): Draft | undefined => {
  const decoded = decode(jsonIn(answer, "{"))
  if (Option.isNone(decoded)) return undefined
  const { desired_outcome, scope, assumptions, clarifying_questions } = decoded.value
  const desiredOutcome = prose(desired_outcome)
  if (desiredOutcome === "") return undefined
  const questions = prose(clarifying_questions)
  return {
    desiredOutcome,
    scope: prose(scope),
    assumptions: prose(assumptions),
    clarifyingQuestions: questions === "" ? null : questions,
  }
}

const prose = (value: string | ReadonlyArray<string> | null | undefined): string => {
  const text = typeof value === "string" ? value : (value ?? []).map((line) => `- ${line}`).join("\n")
  return text.trim().slice(0, maxPart)
}
