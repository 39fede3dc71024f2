/** What is asked where the coordinator is to answer in place of a person. */
import { type Action, write } from "#runtime/coordinator/action.ts"
import { type CoordinatorState, liveAttempt, type OutcomeSpec, type WorkPlan } from "#runtime/coordinator/state.ts"

/** On autopilot alone. A question is never an approval: those wait for people whatever the switch says. */
export const answers = ({ run, children }: CoordinatorState, plan: WorkPlan): ReadonlyArray<Action> =>
  run.autopilot
    ? plan.subtasks.flatMap((subtask) => {
        const childRunId = liveAttempt(subtask)?.childRunId ?? ""
        const questions = children[childRunId]?.questions ?? []
        return questions.map((question): Action => ({ _tag: "AnswerQuestion", childRunId, ...question }))
      })
    : []

/** The questions of the outcome spec are answered first, then it is confirmed in the name of who asked for the work. */
export const onAutopilot = (
  { specId, clarifyingQuestions: question }: OutcomeSpec,
  by: string,
): ReadonlyArray<Action> =>
  question === null
    ? [write({ _tag: "SpecConfirmed", by, allowTaskPromotion: false })]
    : [{ _tag: "AnswerQuestion", childRunId: null, requestId: `outcome-spec-${specId}`, question }]
