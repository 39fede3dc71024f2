/** What can be seen of an orchestration: its graph, the topology in its log, why it did what it did, and who may see it. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { begun, short } from "#test/contract/orchestration.ts"
import { TestDatabase } from "#test/support/database.ts"

/** Every route of a coordinator run, and a body that it takes. */
const reads = ["/outcome-spec", "/work-plan", "/children", "/explain", "/graph"]
const readsThatHide = [
  "/assembly/files",
  "/assembly/workspace",
  "/assembly/files/README.md",
  "/assembly/content/README.md",
]
const writes: ReadonlyArray<readonly [path: string, body: unknown]> = [
  ["/outcome-spec/confirm", undefined],
  ["/outcome-spec/revise", { feedback: "Better" }],
  ["/steer", { kind: "stop" }],
  ["/assembly/review", { approved: true }],
  ["/retry", undefined],
  ["/autopilot", { enabled: true }],
]

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("an orchestration's picture", (it) => {
  it.effect("is a graph that begins at the coordinator, and grows with the plan", () =>
    Effect.gen(function* () {
      const { ids, on, runId, planned, child } = yield* begun()
      const graph = Effect.map(on("GET", "/graph"), ({ body }) => body)
      const coordinator = {
        ...{ id: "coordinator", label: "Coordinator", role: "coordinator", kind: "live", node_type: "agent" },
        ...{ child_graph_ref: null, executionPodName: null, status: "in_progress" },
      }
      const head = { graph_id: `coordinator:${runId}`, variant: "coordinator", start_node_id: "coordinator" }
      expect(yield* graph).toEqual({ ...head, nodes: [coordinator], edges: [] })
      yield* planned
      const childRunId = yield* child(ids.one)
      const drawn = yield* graph
      const [first, second] = [`plan:subtask-${ids.one}`, `plan:subtask-${ids.two}`]
      const subtask = {
        ...{ role: "agent", node_type: "subtask", executionPodName: null, agent: "Vera", model: "gpt-5" },
        ...{ phase: "execution", isolation: "worktree" },
      }
      expect(drawn).toMatchObject(head)
      expect(drawn.nodes.slice(0, 3)).toEqual([
        { ...coordinator, status: "dispatching" },
        {
          ...{ id: first, label: "part 1", ...subtask, kind: "live", status: "dispatched" },
          ...{ child_run_id: childRunId, child_graph_ref: `run:${childRunId}` },
        },
        { id: second, label: "part 2", ...subtask, kind: "planned", status: "pending", child_graph_ref: null },
      ])
      const stages = ["rai", "review", "merge", "scribe"].map((stage) => `planned:assembly-${stage}`)
      const after = drawn.nodes.slice(3)
      expect(after.map(({ id }: { id: string }) => id)).toEqual(stages)
      for (const node of after) expect(node).toMatchObject({ kind: "planned", child_graph_ref: null })
      const [rai = "", review = "", merge = "", scribe = ""] = stages
      const edge = (from: string, to: string, cardinality = "direct", loopback = false) => ({
        ...{ from, to, cardinality, loopback },
      })
      expect(drawn.edges).toEqual([
        edge("coordinator", first, "fanout"),
        edge(first, second),
        edge(second, rai, "fanin"),
        edge(rai, review),
        edge(review, merge),
        edge(merge, scribe),
        edge(rai, "coordinator", "direct", true),
        edge(review, "coordinator", "direct", true),
      ])
      const reached = yield* begun()
      yield* reached.assembled(reached.repository.git("rev-parse", "main"))
      const { nodes } = (yield* reached.on("GET", "/graph")).body
      expect(nodes.find(({ id }: { id: string }) => id === rai)).toMatchObject({ kind: "live", status: "assembling" })
      expect(nodes.find(({ id }: { id: string }) => id === review)).toMatchObject({
        kind: "planned",
        status: "pending",
      })
    }),
  )

  it.effect("is told in the log: the whole topology once, then what has changed of it", () =>
    Effect.gen(function* () {
      const { ids, on, runId, planned, child } = yield* begun()
      yield* planned
      const childRunId = yield* child(ids.one)
      const of = (type: string) =>
        Effect.map(on("GET", `/events?type=${type}`), ({ body }) =>
          body.map(({ payload }: { payload: unknown }) => payload),
        )
      const told = yield* of("coordinator.topology")
      const shared = {
        ...{ version: 1, coordinatorRunId: runId, workPlanId: ids.workPlanId, seq: expect.any(Number) },
        emittedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      }
      const known = { agent: "Vera", model: "gpt-5", phase: "execution", isolation: "worktree" }
      const subtask = (subtaskId: number, label: string) => ({
        ...{ id: `subtask-${subtaskId}`, kind: "subtask", subtaskId, label, status: "pending", ...known },
      })
      const coordinator = {
        ...{ id: "coordinator", kind: "coordinator", label: "Coordinator", agent: "Coordinator" },
      }
      expect(told).toEqual([
        {
          ...{ ...shared, kind: "snapshot", workPlanStatus: "planned" },
          nodes: [
            expect.objectContaining({ ...coordinator, status: "planned" }),
            expect.objectContaining(subtask(ids.one, "part 1")),
            expect.objectContaining(subtask(ids.two, "part 2")),
          ],
          edges: [
            { from: "coordinator", to: `subtask-${ids.one}` },
            { from: `subtask-${ids.one}`, to: `subtask-${ids.two}` },
          ],
        },
        {
          ...{ ...shared, kind: "delta", workPlanStatus: "dispatching" },
          changed: [expect.objectContaining({ ...coordinator, status: "dispatching" })],
        },
        {
          ...{ ...shared, kind: "delta", workPlanStatus: "dispatching" },
          changed: [expect.objectContaining({ ...subtask(ids.one, "part 1"), status: "dispatched", childRunId })],
        },
      ])
      const seqs = told.map(({ seq }: { seq: number }) => seq)
      expect(seqs).toEqual([...new Set<number>(seqs)].sort((a, b) => a - b))
      const graphs = yield* of("coordinator.graph")
      expect(graphs.map(({ seq }: { seq: number }) => seq)).toEqual(seqs)
      const { seq: _, ...last } = graphs.at(-1)
      expect(last).toEqual((yield* on("GET", "/graph")).body)
    }),
  )

  it.effect("says what an event followed from, up to where it is asked", () =>
    Effect.gen(function* () {
      const { ids, on, planned, child } = yield* begun()
      yield* planned
      yield* child(ids.one)
      const plans = (yield* on("GET", "/events?type=coordinator.work_plan")).body
      const plan = plans[0]
      const explained = (yield* on("GET", `/explain?seq=${plan.sequence}`)).body
      expect(explained).toMatchObject({
        event: { sequence: plan.sequence, type: "coordinator.work_plan", payload: { workPlanId: ids.workPlanId } },
        because: [{ type: "coordinator.outcome_spec.confirmed" }],
      })
      const latest = (yield* on("GET", "/explain")).body
      expect(latest).toMatchObject({
        event: { type: "subtask.dispatched", payload: { subtaskId: ids.one } },
        because: [{ type: "coordinator.work_plan", sequence: plan.sequence }],
      })
      expect((yield* on("GET", "/explain?seq=1000000")).body).toEqual(latest)
      for (const wrong of ["seq=0", "seq=-1", "seq=one", "seq=1.5", "seq=", "seq=1&seq=2"]) {
        expect((yield* on("GET", `/explain?${wrong}`)).status, wrong).toBe(400)
      }
    }),
  )

  it.effect("is shown to viewers, who may change nothing, and to nobody else", () =>
    Effect.gen(function* () {
      const { on, call, projectId, reviewable, store, runId } = yield* begun()
      yield* reviewable
      const grant = { principal_id: "ben", role: "viewer" }
      expect((yield* call("POST", `/api/projects/${projectId}/role-assignments`, grant)).status).toBe(201)
      const before = yield* store.load(runId)
      for (const path of [...reads, ...readsThatHide]) {
        const shown = yield* on("GET", path, undefined, "ben")
        // the file is not among those that were changed
        expect(shown.status, path).toBe(path === "/assembly/files/README.md" ? 404 : 200)
      }
      for (const path of reads) expect(short(yield* on("GET", path, undefined, "eve")), path).toBe("403 forbidden")
      for (const path of readsThatHide) {
        expect((yield* on("GET", path, undefined, "eve")).status, path).toBe(404)
      }
      for (const [path, body] of writes) {
        for (const user of ["ben", "eve"] as const) {
          expect(short(yield* on("POST", path, body, user)), `${user} ${path}`).toBe("403 forbidden")
        }
      }
      expect(yield* store.load(runId)).toEqual(before)
    }),
  )

  it.effect("is the same for the run among the others: its status and that of its plan", () =>
    Effect.gen(function* () {
      const { on, call, projectId, runId, reviewable } = yield* begun()
      expect((yield* on("GET", "")).body).toMatchObject({
        ...{ status: "in_progress", coordinator_status: null, coordinator_steerable: true },
      })
      yield* reviewable
      expect((yield* on("GET", "")).body).toMatchObject({
        ...{
          status: "awaiting_review",
          coordinator_status: "in_review",
          coordinator_steerable: true,
          tree_hash: "tree",
        },
      })
      const runs = (yield* call("GET", `/api/projects/${projectId}/runs`)).body
      // its children are not among them
      expect(runs.map((run: { execution_id: string }) => run.execution_id)).toEqual([runId])
      expect(runs[0]).toMatchObject({ coordinator_status: "in_review" })
      yield* on("POST", "/cancel")
      expect((yield* on("GET", "")).body).toMatchObject({ status: "failed", coordinator_steerable: false })
    }),
  )

  it.effect("has autopilot, switched on twice", () =>
    Effect.gen(function* () {
      const { on } = yield* begun({ start_mode: "defineOutcome" })
      for (const _ of [1, 2]) {
        expect((yield* on("POST", "/autopilot", { enabled: true })).status).toBe(200)
        expect((yield* on("GET", "")).body).toMatchObject({ autopilot: true })
      }
    }),
  )
})
