/** The event of an answer on autopilot; the outcome spec is presented again where it is the spec that was asked about. */
import { AutopilotAnswered } from "#core/run/events/coordinator.ts"
import { specPresented } from "#runtime/coordinator/events/plan.ts"
import type { Told } from "#runtime/coordinator/events/told.ts"

export const answerEvents = {
  QuestionAnswered: (told: Told<"QuestionAnswered">) => {
    const { runId } = told.before.run
    const { childRunId, requestId, question, answer } = told.change
    return childRunId === null
      ? [AutopilotAnswered.of({ runId, requestId, question, answer }), ...specPresented(told.after)]
      : [AutopilotAnswered.of({ runId, childRunId, requestId, question, answer })]
  },
}
