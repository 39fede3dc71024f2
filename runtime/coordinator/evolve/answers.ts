/** What changes when the coordinator answers a question on autopilot. */
import type { ChangeOf } from "#runtime/coordinator/change.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"

export const answerSteps = {
  QuestionAnswered: (
    state: CoordinatorState,
    { childRunId, requestId, answer }: ChangeOf<"QuestionAnswered">,
  ): CoordinatorState => {
    if (childRunId === null) {
      const { spec } = state
      if (spec === null) return state
      // what nobody was asked is an assumption
      const assumptions = [spec.assumptions, answer].filter((text) => text !== "").join("\n\n")
      return { ...state, spec: { ...spec, assumptions, clarifyingQuestions: null } }
    }
    const child = state.children[childRunId]
    if (child === undefined) return state
    const questions = child.questions.filter((each) => each.requestId !== requestId)
    return { ...state, children: { ...state.children, [childRunId]: { ...child, questions } } }
  },
}
