/** The plan that a decomposition becomes. */
import type { ChangeOf } from "#runtime/coordinator/change.ts"
import type { Decomposition } from "#runtime/coordinator/model/decompose.ts"
import type { Gate } from "#runtime/coordinator/state.ts"

interface PlanChoice {
  readonly workflowId: string | null
  readonly gates: ReadonlyArray<Gate>
}

/** `ids`: one for the plan, then one for each item. */
export const plannedFrom = (
  { items, adjustments }: Decomposition,
  { workflowId, gates }: PlanChoice,
  [workPlanId = 0, ...subtaskIds]: ReadonlyArray<number>,
): ChangeOf<"PlanDrafted"> => {
  const idOf = new Map(items.map(({ item }, index) => [item, subtaskIds[index] ?? 0]))
  const id = (item: number) => idOf.get(item) ?? 0
  return {
    _tag: "PlanDrafted",
    workPlanId,
    workflowId,
    gates,
    adjustments,
    subtasks: items.map(({ item, dependsOn: _, ...rest }, index) => ({
      ...rest,
      subtaskId: id(item),
      ordinal: index + 1,
      status: "pending",
      attempts: [],
      nextReason: "first",
      recoveryAttempts: 0,
      lockedOutAgents: [],
      feedback: [],
      onTop: false,
    })),
    dependencies: items.flatMap(({ item, dependsOn }) =>
      dependsOn.map((place) => ({ subtaskId: id(item), dependsOnSubtaskId: id(place) })),
    ),
  }
}

/** The ids that a plan needs. */
export const idsNeeded = ({ items }: Decomposition): number => items.length + 1
