/** The answer to a question of a child, or of the outcome spec, where nobody is to be asked. */
import { Effect } from "effect"
import { EventLog } from "#core/event-log.ts"
import { redact } from "#core/redaction.ts"
import { AutopilotAnswered } from "#core/run/events/coordinator.ts"
import { coordinatorAgent } from "#core/run/run.ts"
import type { ActionOf } from "#runtime/coordinator/action.ts"
import { askModel, modelFailed } from "#runtime/coordinator/model/ask.ts"
import { systemWithContext } from "#runtime/coordinator/model/context.ts"
import { envelope, prompt } from "#runtime/coordinator/model/prompt.ts"
import { type CoordinatorState, childOf } from "#runtime/coordinator/state.ts"
import { type Tell, WorldFailed } from "#runtime/coordinator/world.ts"

/** Characters of an answer. */
const maxAnswer = 4_000

/** Where no answer is to be had: better than a child that waits until its question expires. */
export const nobodyAnswers =
  "Nobody can answer now. Decide yourself as the task suggests, take the smaller risk, and say in your report what you assumed."

const partOf = ({ plan }: CoordinatorState, childRunId: string) => {
  const subtask = plan?.subtasks.find((each) => childOf(each) === childRunId)
  return { part: { title: subtask?.title ?? "", scope: subtask?.scope ?? "" } }
}

/** Fails where another try may go better; an answer that cannot be had at all is `nobodyAnswers`. */
export const answerByModel = Effect.fn("coordinator.autopilot")(function* (
  state: CoordinatorState,
  { childRunId, question }: Omit<ActionOf<"AnswerQuestion">, "_tag">,
  tell: Tell,
) {
  const { spec, run } = state
  const log = yield* EventLog
  const answered = yield* log
    .read(run.runId, { type: AutopilotAnswered.type })
    .pipe(Effect.mapError(({ message }) => new WorldFailed({ reason: "unavailable", message, retryable: true })))
  const system = yield* systemWithContext(state, prompt("autopilot"), tell)
  const reply = yield* askModel(state, {
    purpose: "autopilot",
    agentName: coordinatorAgent,
    modelId: null,
    system,
    text: envelope({
      goal: run.goal,
      outcome: spec?.desiredOutcome ?? run.goal,
      assumptions: spec?.assumptions ?? "",
      ...(childRunId === null ? {} : partOf(state, childRunId)),
      question,
    }),
    step: answered.length,
  }).pipe(
    Effect.mapError(modelFailed),
    Effect.catchIf(
      ({ retryable }) => !retryable,
      () => Effect.succeed({ text: "", filtered: false, usage: [] }),
    ),
  )
  yield* tell(reply.usage)
  const answer = reply.filtered ? "" : redact(reply.text.trim()).slice(0, maxAnswer)
  return answer === "" ? nobodyAnswers : answer
})
