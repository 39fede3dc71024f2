/** A question whose answer must have a form: asked again, a few times, where it does not. */
import { Effect } from "effect"
import type { NewEvent } from "#core/event.ts"
import type { Hooks } from "#core/hook.ts"
import type { Models } from "#core/ports/models.ts"
import { DecompositionRetrying, SpecDraftRetrying } from "#core/run/events/coordinator.ts"
import { coordinatorAgent } from "#core/run/run.ts"
import type { Draft } from "#runtime/coordinator/change.ts"
import { askModel, modelFailed, type Question, type Reply } from "#runtime/coordinator/model/ask.ts"
import { systemWithContext } from "#runtime/coordinator/model/context.ts"
import {
  type Decomposition,
  decomposeQuestion,
  decompositionIn,
  maxSubtasks,
} from "#runtime/coordinator/model/decompose.ts"
import { draftIn, draftQuestion } from "#runtime/coordinator/model/draft.ts"
import { prompt } from "#runtime/coordinator/model/prompt.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { type Tell, WorldFailed } from "#runtime/coordinator/world.ts"

/** Answers of a model that are looked at for one question. */
export const maxAttempts = 3

type Fault = "model_refusal" | "invalid_response"

interface Contract<A> {
  readonly question: Question
  readonly read: (answer: string) => A | undefined
  readonly retrying: (fault: {
    readonly attempt: number
    readonly maxAttempts: number
    readonly reason: Fault
  }) => NewEvent
  readonly tell: Tell
}

const askForForm = Effect.fnUntraced(function* <A>(
  state: CoordinatorState,
  { question, read, retrying, tell }: Contract<A>,
): Effect.fn.Return<A, WorldFailed, Models | Hooks> {
  const system = yield* systemWithContext(state, question.system, tell)
  let reason: Fault = "invalid_response"
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const again = attempt === 1 ? "" : "\n\nYour last answer did not have the form that was asked for. Answer again."
    const asked = { ...question, system, text: question.text + again, step: question.step * maxAttempts + attempt - 1 }
    const reply = yield* askModel(state, asked).pipe(
      Effect.catchIf(
        ({ kind }) => kind === "Refused",
        () => Effect.succeed<Reply>({ text: "", filtered: true, usage: [] }),
      ),
      Effect.mapError(modelFailed),
    )
    const answer = reply.filtered ? undefined : read(reply.text)
    if (answer !== undefined) {
      yield* tell(reply.usage)
      return answer
    }
    reason = reply.filtered ? "model_refusal" : "invalid_response"
    const last = attempt === maxAttempts
    yield* tell([...reply.usage, ...(last ? [] : [retrying({ attempt, maxAttempts, reason })])])
  }
  return yield* new WorldFailed({
    reason: `${question.purpose}_${reason}`,
    message: `The model gave no usable answer in ${maxAttempts} attempts (${question.purpose}).`,
    retryable: true,
    exhausted: true,
  })
})

/** `modelId`: the project's own for this; null: the run's. */
export const draftSpecByModel = (
  state: CoordinatorState,
  modelId: string | null,
  tell: Tell,
): Effect.Effect<Draft, WorldFailed, Models | Hooks> =>
  askForForm(state, {
    question: {
      purpose: "outcome_spec",
      agentName: coordinatorAgent,
      modelId,
      system: prompt("outcome-spec"),
      text: draftQuestion(state),
      step: state.spec?.feedback.length ?? 0,
    },
    read: draftIn,
    retrying: SpecDraftRetrying.of,
    tell,
  })

export const decomposeByModel = (
  state: CoordinatorState,
  modelId: string | null,
  tell: Tell,
): Effect.Effect<Decomposition, WorldFailed, Models | Hooks> =>
  askForForm(state, {
    question: {
      purpose: "decompose",
      agentName: coordinatorAgent,
      modelId,
      system: prompt("decompose", { most: String(maxSubtasks) }),
      text: decomposeQuestion(state),
      step: 0,
    },
    read: (answer) => decompositionIn(answer, state.roster),
    retrying: DecompositionRetrying.of,
    tell,
  })
