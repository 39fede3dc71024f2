/**
 * How the plan looks, for those who watch: the whole once, when it is drafted, then what has changed of it. `seq` is
 * the version of the state that is shown: of two the higher one counts.
 */
import type { NewEvent } from "#core/event.ts"
import { CoordinatorGraph, TopologyChanged } from "#core/run/events/coordinator.ts"
import { coordinatorGraph } from "#runtime/coordinator/graph.ts"
import { type CoordinatorState, childOf, lastAttempt, type Subtask, type WorkPlan } from "#runtime/coordinator/state.ts"

export interface TopologyNode {
  readonly id: string
  readonly kind: "coordinator" | "subtask"
  readonly subtaskId: number | null
  readonly status: string
  readonly label: string
  readonly agent: string | null
  readonly model: string | null
  readonly childRunId: string | null
  readonly phase: string | null
  readonly isolation: string | null
  readonly executionPodName: string | null
}

const coordinatorNode = ({ status }: WorkPlan): TopologyNode => ({
  id: "coordinator",
  kind: "coordinator",
  subtaskId: null,
  status,
  label: "Coordinator",
  agent: "Coordinator",
  model: null,
  childRunId: null,
  phase: null,
  isolation: null,
  executionPodName: null,
})

const subtaskNode = ({ children }: CoordinatorState, subtask: Subtask): TopologyNode => ({
  id: `subtask-${subtask.subtaskId}`,
  kind: "subtask",
  subtaskId: subtask.subtaskId,
  status: subtask.status,
  label: subtask.title,
  agent: subtask.assignedAgent,
  model: subtask.selectedModelId,
  childRunId: childOf(subtask),
  phase: subtask.phase,
  isolation: subtask.isolation,
  executionPodName: children[lastAttempt(subtask)?.childRunId ?? ""]?.executionPodName ?? null,
})

export const topologyNodes = (state: CoordinatorState): ReadonlyArray<TopologyNode> =>
  state.plan === null
    ? []
    : [coordinatorNode(state.plan), ...state.plan.subtasks.map((subtask) => subtaskNode(state, subtask))]

/** From what is needed to what needs it; the coordinator needs nothing. */
export const topologyEdges = ({ subtasks, dependencies }: WorkPlan) => [
  ...subtasks
    .filter(({ subtaskId }) => dependencies.every((edge) => edge.subtaskId !== subtaskId))
    .map(({ subtaskId }) => ({ from: "coordinator", to: `subtask-${subtaskId}` })),
  ...dependencies.map((edge) => ({ from: `subtask-${edge.dependsOnSubtaskId}`, to: `subtask-${edge.subtaskId}` })),
]

/** What of the picture a change has changed: nothing, or a snapshot or delta with the whole graph. */
export const topologyEvents = (
  before: CoordinatorState,
  after: CoordinatorState,
  at: string,
): ReadonlyArray<NewEvent> => {
  const { plan, run } = after
  if (plan === null) return []
  const seq = before.version + 1
  const known = new Map(topologyNodes(before).map((node) => [node.id, JSON.stringify(node)]))
  const nodes = topologyNodes(after)
  const changed = nodes.filter((node) => known.get(node.id) !== JSON.stringify(node))
  const descriptor = coordinatorGraph(after)
  const redrawn = JSON.stringify(coordinatorGraph(before)) !== JSON.stringify(descriptor)
  const shared = {
    version: 1 as const,
    coordinatorRunId: run.runId,
    workPlanId: plan.workPlanId,
    workPlanStatus: plan.status,
    seq,
    emittedAt: at,
  }
  const topology =
    before.plan === null
      ? [TopologyChanged.of({ ...shared, kind: "snapshot", nodes, edges: topologyEdges(plan) })]
      : changed.length === 0
        ? []
        : [TopologyChanged.of({ ...shared, kind: "delta", changed })]
  return redrawn ? [...topology, CoordinatorGraph.of({ ...descriptor, variant: "coordinator", seq })] : topology
}
