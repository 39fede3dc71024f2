/** What is to be done once every child is through: integrate, ask the gates, ask a person, merge. */
import { type Action, write } from "#runtime/coordinator/action.ts"
import { integrationOrder } from "#runtime/coordinator/order.ts"
import { isEligible, type Stage, type WorkPlan } from "#runtime/coordinator/state.ts"

export const assemble = (plan: WorkPlan): ReadonlyArray<Action> => {
  if (plan.status === "awaiting_assembly") {
    return plan.subtasks.every(isEligible)
      ? [write({ _tag: "AssemblyStarted" })]
      : [write({ _tag: "AssemblyBlocked", reason: "ineligible_subtasks", infrastructure: null })]
  }
  const { stage, gateId, commit, treeHash, approvedTreeHash, approvedBy } = plan.assembly
  switch (stage) {
    case "rai":
    case "build-test":
    case "rubberduck":
      return gateId === null
        ? [write({ _tag: "GateStarted", gateId: gateIdOf(plan, stage) })]
        : [{ _tag: "RunGate", gate: stage, gateId }]
    case "review":
      return [{ _tag: "RequestReview", gateId: gateIdOf(plan, stage) }]
    case "merge":
      // nothing but the very tree that a person approved
      return commit !== null && treeHash !== null && treeHash === approvedTreeHash && approvedBy !== null
        ? [{ _tag: "Merge", commit, treeHash, approvedBy }]
        : [{ _tag: "RequestReview", gateId: gateIdOf(plan, "review") }]
    case "scribe":
      return [{ _tag: "Scribe" }]
    case "done":
      return [write({ _tag: "Completed" })]
    case "integrate":
    case null:
      return [{ _tag: "Integrate", order: integrationOrder(plan) }]
  }
}

/** One id for one asking: `{plan}-{gate}-{round}`. */
const gateIdOf = ({ workPlanId, assembly }: WorkPlan, stage: Stage): string =>
  `${workPlanId}-${stage === "review" ? "human-review" : stage}-${assembly.round}`
