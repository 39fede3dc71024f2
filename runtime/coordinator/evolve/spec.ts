/** Changes from the start of the run to its plan. */
import type { ChangeOf } from "#runtime/coordinator/change.ts"
import { withRun } from "#runtime/coordinator/evolve/parts.ts"
import { withFeedback } from "#runtime/coordinator/limits.ts"
import { type CoordinatorState, noAssembly, type OutcomeSpec } from "#runtime/coordinator/state.ts"

const withSpec = (state: CoordinatorState, change: (spec: OutcomeSpec) => OutcomeSpec): CoordinatorState => {
  if (state.spec === null) throw new Error(`the coordinator run ${state.run.runId} has no outcome spec yet`)
  return { ...state, spec: change(state.spec) }
}

export const specSteps = {
  Started: (state: CoordinatorState) => withRun(state, { status: "in_progress" }),

  SpecDrafted: (state: CoordinatorState, { specId, draft }: ChangeOf<"SpecDrafted">): CoordinatorState => ({
    ...state,
    spec: {
      specId,
      confirmedBy: null,
      allowTaskPromotion: false,
      feedback: state.spec?.feedback ?? [],
      ...draft,
      status: "awaiting_confirmation",
    },
  }),

  SpecConfirmed: (state: CoordinatorState, { by, allowTaskPromotion }: ChangeOf<"SpecConfirmed">) =>
    withSpec(state, (spec) => ({ ...spec, status: "confirmed", confirmedBy: by, allowTaskPromotion })),

  SpecRevised: (state: CoordinatorState, { feedback }: ChangeOf<"SpecRevised">) =>
    withSpec(state, (spec) => ({ ...spec, status: "drafting", feedback: withFeedback(spec.feedback, feedback) })),

  SpecDeclined: (state: CoordinatorState) =>
    withRun(
      withSpec(state, (spec) => ({ ...spec, status: "declined" })),
      { status: "completed", result: "declined" },
    ),

  PlanDrafted: (state: CoordinatorState, drafted: ChangeOf<"PlanDrafted">): CoordinatorState => {
    if (state.plan !== null || state.spec === null) throw new Error("a coordinator run has one plan, for its spec")
    const { workPlanId, workflowId, gates, subtasks, dependencies } = drafted
    return {
      ...state,
      plan: {
        workPlanId,
        outcomeSpecId: state.spec.specId,
        status: "planned",
        statusReason: null,
        workflowId,
        gates,
        subtasks,
        dependencies,
        steeringIterations: 0,
        humanReviewRoundTrips: 0,
        assembly: noAssembly,
      },
    }
  },
}
