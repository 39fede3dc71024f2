/** The graph of a run of its own, or of a child: which stages it goes through. */
import { Schema } from "effect"
import type { Run } from "#core/run/run.ts"

const optionalText = Schema.optionalKey(Schema.String)

const GraphNode = Schema.Struct({
  id: Schema.String,
  label: Schema.String,
  role: Schema.Literals(["coordinator", "agent", "review", "merge", "scribe", "plumbing"]),
  /** `live` once the run has reached it. */
  kind: Schema.Literals(["live", "planned"]),
  node_type: Schema.Literals(["agent", "action", "gate", "terminal", "subtask"]),
  child_graph_ref: Schema.NullOr(Schema.String),
  executionPodName: Schema.NullOr(Schema.String),
  agent: optionalText,
  model: optionalText,
  phase: optionalText,
  isolation: optionalText,
  child_run_id: optionalText,
  status: optionalText,
  status_reason: optionalText,
  terminal_stage: optionalText,
})
type Node = typeof GraphNode.Type

const GraphEdge = Schema.Struct({
  from: Schema.String,
  to: Schema.String,
  cardinality: Schema.Literals(["direct", "fanout", "fanin"]),
  /** A way back, for rework. */
  loopback: Schema.Boolean,
})
type Edge = typeof GraphEdge.Type

export const GraphDescriptor = Schema.Struct({
  graph_id: Schema.String,
  variant: Schema.Literals(["full", "child", "coordinator", "workflow"]),
  start_node_id: Schema.String,
  nodes: Schema.Array(GraphNode),
  edges: Schema.Array(GraphEdge),
})
export type GraphDescriptor = typeof GraphDescriptor.Type

type GraphedRun = Pick<Run, "runId" | "parentRunId" | "agentName" | "modelId" | "status" | "treeHash">

const edge = (from: string, to: string, loopback = false): Edge => ({ from, to, cardinality: "direct", loopback })

export const runGraph = (run: GraphedRun): GraphDescriptor => {
  const child = run.parentRunId !== null
  const reviewed = run.treeHash !== null
  const merging = run.status === "merging" || run.status === "merged" || run.status === "merge_failed"
  const node = (
    id: string,
    label: string,
    role: Node["role"],
    node_type: Node["node_type"],
    live: boolean,
    more: Partial<Node> = {},
  ): Node => ({
    id,
    label,
    role,
    kind: live ? "live" : "planned",
    node_type,
    child_graph_ref: null,
    executionPodName: null,
    ...more,
  })
  const agent = node("agent", run.agentName ?? "Agent", "agent", "agent", true, {
    ...(run.agentName === null ? {} : { agent: run.agentName }),
    ...(run.modelId === null ? {} : { model: run.modelId }),
  })
  const rai = node("rai", "Responsible AI", "review", "gate", reviewed)
  const graph = { graph_id: `run:${run.runId}`, start_node_id: "agent" }
  if (child) {
    const ready = node("assemble-ready", "Ready for assembly", "plumbing", "terminal", run.status === "assemble_ready")
    return {
      ...graph,
      variant: "child",
      nodes: [agent, rai, ready],
      edges: [edge("agent", "rai"), edge("rai", "agent", true), edge("rai", "assemble-ready")],
    }
  }
  return {
    ...graph,
    variant: "full",
    nodes: [
      agent,
      rai,
      node("review", "Human review", "review", "gate", reviewed),
      node("merge", "Merge", "merge", "action", merging),
      node("done", "Done", "plumbing", "terminal", run.status === "merged"),
    ],
    edges: [
      edge("agent", "rai"),
      edge("rai", "agent", true),
      edge("rai", "review"),
      edge("review", "agent", true),
      edge("review", "merge"),
      edge("merge", "review", true),
      edge("merge", "done"),
    ],
  }
}
