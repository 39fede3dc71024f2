/**
 * What the coordinator does next, from the state alone: the whole path of a coordinator run on a few pages. Level
 * triggered: whatever was missed is found by looking. The actions are in the order in which they are to be done;
 * none: the run has ended, or `waitsOf` says who can make it go on.
 */
import { isTerminal } from "#core/run/status.ts"
import { type Action, write } from "#runtime/coordinator/action.ts"
import { answers, onAutopilot } from "#runtime/coordinator/next/answers.ts"
import { assemble } from "#runtime/coordinator/next/assembly.ts"
import { dispatch } from "#runtime/coordinator/next/dispatch.ts"
import { heeded, steering } from "#runtime/coordinator/next/steering.ts"
import { type CoordinatorState, endedPlans, type WorkPlan } from "#runtime/coordinator/state.ts"

/** `now`: milliseconds since 1970, by the clock of the database. */
export const next = (state: CoordinatorState, now: number): ReadonlyArray<Action> => {
  const { run, plan } = state
  if (isTerminal(run.status)) return []
  if (run.status === "pending") return [write({ _tag: "Started" })]
  if (plan === null) return towardsPlan(state)
  if (endedPlans.has(plan.status)) return []
  if (plan.status === "planned") return [write({ _tag: "DispatchBegan" })]
  const first = [...heeded(state, plan), ...steering(state, plan)]
  return [...first, ...onwards(state, plan, now, first.length > 0)]
}

const towardsPlan = ({ spec, startMode, run }: CoordinatorState): ReadonlyArray<Action> => {
  switch (spec?.status) {
    case undefined:
      return [{ _tag: startMode === "direct" ? "SynthesizeSpec" : "DraftSpec" }]
    case "drafting":
      return [{ _tag: "DraftSpec" }]
    case "awaiting_confirmation":
      return run.autopilot ? onAutopilot(spec, run.submittedBy) : []
    case "confirmed":
      return [{ _tag: "Decompose" }]
    case "declined":
      return []
  }
}

const onwards = (state: CoordinatorState, plan: WorkPlan, now: number, steered: boolean): ReadonlyArray<Action> => {
  switch (plan.status) {
    case "dispatching":
      return [...answers(state, plan), ...dispatch(state, plan, now, steered)]
    case "awaiting_assembly":
    case "assembling":
      return steered ? [] : assemble(plan)
    case "planned":
    case "assembly_steering":
    case "in_review":
    case "assembly_blocked":
    case "rai_blocked":
    case "needs_resolution":
    case "complete":
    case "assembly_failed":
    case "assembly_declined":
    case "cancelled":
      return []
  }
}
