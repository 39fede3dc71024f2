/**
 * How the plan looks, for those who watch: the whole once, when it is drafted, then what has changed of it. `seq` is
 * the version of the state that is shown: of two the higher one counts.
 */
import type { NewEvent } from "#core/event.ts"
import { CoordinatorGraph, TopologyChanged } from "#core/run/events/coordinator.ts"
import { tiesOf } from "#runtime/coordinator/dependencies.ts"
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
    .filter(({ subtaskId }) => !tiesOf(dependencies).needs.has(subtaskId))
    .map(({ subtaskId }) => ({ from: "coordinator", to: `subtask-${subtaskId}` })),
  ...dependencies.map((edge) => ({ from: `subtask-${edge.dependsOnSubtaskId}`, to: `subtask-${edge.subtaskId}` })),
]

/** Subtasks of a plan up to which the whole graph is told with every change; of a larger one when the plan moves. */
const smallPlan = 50

/** What of the picture a change has changed: nothing, or a snapshot or delta, and the whole graph where it is told. */
export const topologyEvents = (
  before: CoordinatorState,
  after: CoordinatorState,
  at: string,
): ReadonlyArray<NewEvent> => {
  const { plan, run } = after
  if (plan === null) return []
  const seq = before.version + 1
  const shared = {
    version: 1 as const,
    coordinatorRunId: run.runId,
    workPlanId: plan.workPlanId,
    workPlanStatus: plan.status,
    seq,
    emittedAt: at,
  }
  const graph = () => CoordinatorGraph.of({ ...coordinatorGraph(after), variant: "coordinator", seq })
  if (before.plan === null) {
    const edges = topologyEdges(plan)
    return [TopologyChanged.of({ ...shared, kind: "snapshot", nodes: topologyNodes(after), edges }), graph()]
  }
  const moved = planMoved(before.plan, plan)
  const changed = [
    ...(before.plan.status === plan.status ? [] : [coordinatorNode(plan)]),
    ...changedSubtasks(before, before.plan, after, plan),
  ]
  const topology = changed.length === 0 ? [] : [TopologyChanged.of({ ...shared, kind: "delta", changed })]
  // the graph of a large plan, told with each of its many changes, would be most of the log
  const redrawn = moved || (changed.length > 0 && plan.subtasks.length <= smallPlan)
  return redrawn ? [...topology, graph()] : topology
}

/** Does the graph show anything else of the plan than its subtasks as it was not? */
const planMoved = (before: WorkPlan, { status, statusReason, assembly }: WorkPlan): boolean =>
  before.status !== status || before.statusReason !== statusReason || before.assembly.stage !== assembly.stage

/** Only subtasks that are other values than before are looked at. */
const changedSubtasks = (
  before: CoordinatorState,
  { subtasks }: WorkPlan,
  after: CoordinatorState,
  plan: WorkPlan,
): ReadonlyArray<TopologyNode> =>
  plan.subtasks.flatMap((subtask, index) => {
    const known = subtasks[index]
    if (known === subtask) return []
    const node = subtaskNode(after, subtask)
    const same = known !== undefined && JSON.stringify(subtaskNode(before, known)) === JSON.stringify(node)
    return same ? [] : [node]
  })
