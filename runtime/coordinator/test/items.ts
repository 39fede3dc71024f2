/** Items of a decomposition, as a model that does well would give them. */
import type { PlannedItem } from "#runtime/coordinator/model/decompose.ts"

export const plannedItems = (
  count: number,
  edges: ReadonlyArray<readonly [item: number, dependsOn: number]> = [],
): ReadonlyArray<PlannedItem> =>
  Array.from({ length: count }, (_, index) => ({
    item: index + 1,
    title: `part ${index + 1}`,
    scope: "",
    role: "writer",
    assignedAgent: "Vera",
    selectedModelId: "gpt-5",
    charter: null,
    complexity: "low",
    phase: "execution",
    isolation: "worktree",
    dependsOn: edges.filter(([item]) => item === index + 1).map(([, dependsOn]) => dependsOn),
  }))
