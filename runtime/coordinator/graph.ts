/**
 * A coordinator run as a graph: the plan's subtasks, then what is done with their work. Nodes of the assembly are
 * `planned` until they are reached; every gate has a way back to the coordinator.
 */

import { tiesOf } from "#runtime/coordinator/dependencies.ts"
import {
  type CoordinatorState,
  childOf,
  gates,
  lastAttempt,
  type Stage,
  type WorkPlan,
} from "#runtime/coordinator/state.ts"
import type { GraphDescriptor } from "#runtime/runs/graph.ts"

type Node = GraphDescriptor["nodes"][number]
type Edge = GraphDescriptor["edges"][number]

const edge = (from: string, to: string, cardinality: Edge["cardinality"] = "direct", loopback = false): Edge => ({
  from,
  to,
  cardinality,
  loopback,
})

export const subtaskNodeId = (subtaskId: number): string => `plan:subtask-${subtaskId}`

/** `label`, `role` and `node_type` of the nodes of the assembly. */
const assemblyNodes: Record<Exclude<Stage, "integrate" | "done">, Pick<Node, "label" | "role" | "node_type">> = {
  rai: { label: "Responsible AI", role: "review", node_type: "gate" },
  "build-test": { label: "Build & Test", role: "review", node_type: "gate" },
  rubberduck: { label: "Rubberduck", role: "review", node_type: "gate" },
  review: { label: "Human review", role: "review", node_type: "gate" },
  merge: { label: "Merge", role: "merge", node_type: "action" },
  scribe: { label: "Scribe", role: "scribe", node_type: "action" },
}

export const coordinatorGraph = (state: CoordinatorState): GraphDescriptor => {
  const { run, plan } = state
  const coordinator: Node = {
    id: "coordinator",
    label: "Coordinator",
    role: "coordinator",
    kind: "live",
    node_type: "agent",
    child_graph_ref: null,
    executionPodName: null,
    status: plan?.status ?? run.status,
    ...(plan?.statusReason == null ? {} : { status_reason: plan.statusReason }),
  }
  const graph = { graph_id: `coordinator:${run.runId}`, variant: "coordinator", start_node_id: "coordinator" } as const
  if (plan === null) return { ...graph, nodes: [coordinator], edges: [] }
  const stages = stagesOf(plan)
  return {
    ...graph,
    nodes: [
      coordinator,
      ...plan.subtasks.map((each) => subtaskNode(state, each)),
      ...stages.map((s) => stageNode(plan, s)),
    ],
    edges: [...subtaskEdges(plan, stages[0]), ...stageEdges(stages)],
  }
}

const stagesOf = (plan: WorkPlan): ReadonlyArray<keyof typeof assemblyNodes> => [
  ...gates.filter((gate) => plan.gates.includes(gate)),
  "review",
  "merge",
  "scribe",
]

const stageId = (stage: Stage): string => `planned:assembly-${stage}`

const subtaskNode = (state: CoordinatorState, subtask: WorkPlan["subtasks"][number]): Node => {
  const childRunId = childOf(subtask)
  const child = state.children[lastAttempt(subtask)?.childRunId ?? ""]
  return {
    id: subtaskNodeId(subtask.subtaskId),
    label: subtask.title,
    role: "agent",
    kind: childRunId === null ? "planned" : "live",
    node_type: "subtask",
    child_graph_ref: childRunId === null ? null : `run:${childRunId}`,
    executionPodName: childRunId === null ? null : (child?.executionPodName ?? null),
    agent: subtask.assignedAgent,
    model: subtask.selectedModelId,
    phase: subtask.phase,
    isolation: subtask.isolation,
    status: subtask.status,
    ...(childRunId === null ? {} : { child_run_id: childRunId }),
  }
}

const stageNode = ({ assembly, gates: asked, status }: WorkPlan, stage: keyof typeof assemblyNodes): Node => {
  const order: ReadonlyArray<Stage> = [
    "integrate",
    ...gates.filter((gate) => asked.includes(gate)),
    "review",
    "merge",
    "scribe",
    "done",
  ]
  const here = assembly.stage === null ? -1 : order.indexOf(assembly.stage)
  const place = order.indexOf(stage)
  const state = place < here ? "completed" : place === here ? status : "pending"
  return {
    id: stageId(stage),
    ...assemblyNodes[stage],
    kind: place <= here ? "live" : "planned",
    child_graph_ref: null,
    executionPodName: null,
    status: state,
    ...(place === here && status === "complete" ? { terminal_stage: stage } : {}),
  }
}

/** Coordinator → roots, dependencies, leaves → what comes first after them. */
const subtaskEdges = ({ subtasks, dependencies }: WorkPlan, first: Stage | undefined): ReadonlyArray<Edge> => {
  const { needs, neededBy } = tiesOf(dependencies)
  const roots = subtasks.filter(({ subtaskId }) => !needs.has(subtaskId))
  const leaves = subtasks.filter(({ subtaskId }) => !neededBy.has(subtaskId))
  return [
    ...roots.map(({ subtaskId }) => edge("coordinator", subtaskNodeId(subtaskId), "fanout")),
    ...dependencies.map((each) => edge(subtaskNodeId(each.dependsOnSubtaskId), subtaskNodeId(each.subtaskId))),
    ...(first === undefined
      ? []
      : leaves.map(({ subtaskId }) => edge(subtaskNodeId(subtaskId), stageId(first), "fanin"))),
  ]
}

const stageEdges = (stages: ReadonlyArray<keyof typeof assemblyNodes>): ReadonlyArray<Edge> => [
  ...stages.slice(1).map((stage, index) => edge(stageId(stages[index] ?? stage), stageId(stage))),
  ...stages
    .filter((stage) => assemblyNodes[stage].node_type === "gate")
    .map((stage) => edge(stageId(stage), "coordinator", "direct", true)),
]
