import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import {
  ChildAnswer,
  childrenAnswer,
  directiveAnswer,
  outcomeSpecAnswer,
  WorkPlanAnswer,
  workPlanAnswer,
} from "#runtime/coordinator/answers.ts"
import { personSignal } from "#runtime/coordinator/command.ts"
import { evolveAll } from "#runtime/coordinator/evolve.ts"
import { coordinatorGraph } from "#runtime/coordinator/graph.ts"
import { inOrder } from "#runtime/coordinator/order.ts"
import { newDirective } from "#runtime/coordinator/outcome.ts"
import { aPlan, aSpec, aState, aSubtask, begun, planned, runId } from "#runtime/coordinator/test/states.ts"
import { topologyEvents } from "#runtime/coordinator/topology.ts"
import { GraphDescriptor } from "#runtime/runs/graph.ts"

const at = "2026-01-01T00:00:00.000Z"
const plan = aPlan(
  [begun(1, "assemble_ready"), aSubtask(2), aSubtask(3, { charter: "You paint.", isolation: "shared" })],
  {},
  [[2, 1]],
)
const state = planned(plan)

describe("the graph", () => {
  it("is the coordinator alone before there is a plan", () => {
    expect(coordinatorGraph(aState())).toMatchObject({
      graph_id: `coordinator:${runId}`,
      variant: "coordinator",
      start_node_id: "coordinator",
      nodes: [{ id: "coordinator", role: "coordinator", node_type: "agent" }],
      edges: [],
    })
  })

  it("goes from the coordinator through the subtasks and the gates to the scribe, and back from every gate", () => {
    const graph = coordinatorGraph(state)
    expect(Schema.is(GraphDescriptor)(graph)).toBe(true)
    expect(graph.nodes.map(({ id, kind }) => `${id} ${kind}`)).toEqual([
      "coordinator live",
      "plan:subtask-1 live",
      "plan:subtask-2 planned",
      "plan:subtask-3 planned",
      "planned:assembly-rai planned",
      "planned:assembly-build-test planned",
      "planned:assembly-review planned",
      "planned:assembly-merge planned",
      "planned:assembly-scribe planned",
    ])
    const short = (name: string) => name.replace(/^plan(?:ned)?:(?:subtask|assembly)-/, "")
    expect(
      graph.edges.map(
        ({ from, to, cardinality, loopback }) => `${short(from)}>${short(to)} ${loopback ? "back" : cardinality}`,
      ),
    ).toEqual([
      "coordinator>1 fanout",
      "coordinator>3 fanout",
      "1>2 direct",
      "2>rai fanin",
      "3>rai fanin",
      "rai>build-test direct",
      "build-test>review direct",
      "review>merge direct",
      "merge>scribe direct",
      "rai>coordinator back",
      "build-test>coordinator back",
      "review>coordinator back",
    ])
  })

  it("shows a gate as live once it is reached, and what is behind it as completed", () => {
    const assembly = { ...plan.assembly, stage: "build-test" as const, treeHash: "t" }
    const graph = coordinatorGraph(planned(aPlan(plan.subtasks, { status: "assembling", assembly })))
    const shown = graph.nodes.slice(-5).map(({ kind, status }) => `${kind} ${status}`)
    expect(shown).toEqual([
      "live completed",
      "live assembling",
      "planned pending",
      "planned pending",
      "planned pending",
    ])
  })
})

describe("the topology", () => {
  it("is told whole with the plan, then as what has changed, and not where nothing has", () => {
    const before = aState({ spec: aSpec })
    const [snapshot, graph] = topologyEvents(before, { ...state, version: 2 }, at)
    expect(JSON.parse(snapshot?.payload ?? "")).toMatchObject({
      kind: "snapshot",
      seq: 2,
      workPlanStatus: "dispatching",
      nodes: [
        { id: "coordinator" },
        { id: "subtask-1", childRunId: "child-1" },
        { id: "subtask-2" },
        { id: "subtask-3" },
      ],
      edges: [
        { from: "coordinator", to: "subtask-1" },
        { from: "coordinator", to: "subtask-3" },
        { from: "subtask-1", to: "subtask-2" },
      ],
    })
    expect(graph?.type).toBe("coordinator.graph")
    const after = evolveAll(state, [{ _tag: "Dispatched", subtaskId: 2, attempt: 1, childRunId: "child-2" }])
    const [delta] = topologyEvents(state, after, at)
    expect(JSON.parse(delta?.payload ?? "")).toMatchObject({
      kind: "delta",
      seq: 2,
      changed: [{ id: "subtask-2", status: "dispatched", childRunId: "child-2" }],
    })
    expect(topologyEvents(after, { ...after, version: 3 }, at)).toEqual([])
  })
})

describe("the answers", () => {
  it("leave out what is not known", () => {
    expect(outcomeSpecAnswer(aState())).toBeUndefined()
    expect(
      outcomeSpecAnswer(aState({ spec: { ...aSpec, status: "awaiting_confirmation", confirmedBy: null } })),
    ).toEqual({
      specId: 1,
      goal: "make it work",
      desiredOutcome: "it works",
      scope: "",
      assumptions: "",
      status: "awaiting_confirmation",
      allowTaskPromotion: false,
    })
    expect(workPlanAnswer(aState())).toBeUndefined()
    expect(childrenAnswer(aState())).toEqual([])
  })

  it("show the plan with its children, and a charter only where there is one", () => {
    const answer = workPlanAnswer(state)
    expect(Schema.is(WorkPlanAnswer)(answer)).toBe(true)
    expect(answer).toMatchObject({
      workPlanId: 2,
      coordinatorRunId: runId,
      status: "dispatching",
      isolationSummary: "2 worktree, 1 shared",
      assemblyStage: null,
      assemblyTerminalStage: null,
      dependencies: [{ subtaskId: 2, dependsOnSubtaskId: 1 }],
    })
    expect(answer?.subtasks.map((subtask) => ["childRunId" in subtask, "charter" in subtask])).toEqual([
      [true, false],
      [false, false],
      [false, true],
    ])
    const [child, ...others] = childrenAnswer(state)
    expect(others).toEqual([])
    expect(Schema.is(ChildAnswer)(child)).toBe(true)
    expect(child).toMatchObject({ subtaskId: 1, childRunId: "child-1", worktreeBranch: "svc/child-1" })
  })

  it("show a directive as the interface does", () => {
    const signal = personSignal(state, {
      by: "eve",
      verb: "send",
      feedback: "hi",
      targetFiles: null,
      targets: [1],
      childRunId: "child-1",
    })
    expect(directiveAnswer(newDirective(signal, { id: 9, at }))).toEqual({
      id: 9,
      coordinatorRunId: runId,
      targetChildRunId: "child-1",
      kind: "send",
      instruction: "hi",
      status: "pending",
      createdBy: "eve",
      createdAt: at,
    })
  })
})

describe("the order of integration", () => {
  it("is the plan's, with what was done again on top as late as possible, and its dependents after it", () => {
    const subtasks = [
      begun(1, "assemble_ready", { onTop: true }),
      begun(2, "assemble_ready"),
      begun(3, "assemble_ready"),
    ]
    const order = (edges: ReadonlyArray<readonly [number, number]>) =>
      inOrder(aPlan(subtasks, {}, edges)).map(({ subtaskId }) => subtaskId)
    expect(order([])).toEqual([2, 3, 1])
    expect(order([[2, 1]])).toEqual([3, 1, 2])
  })
})
