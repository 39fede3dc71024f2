import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { EventLog } from "#core/event-log.ts"
import { newId } from "#core/ids.ts"
import { RunControl } from "#core/run/control.ts"
import { Runs } from "#core/run/runs.ts"
import { Sql } from "#core/sql.ts"
import { steer as builtIn } from "#policies/steering/steer.ts"
import type { Change } from "#runtime/coordinator/change.ts"
import { reviewAssembly } from "#runtime/coordinator/command.ts"
import { evolveAll } from "#runtime/coordinator/evolve.ts"
import { explain } from "#runtime/coordinator/explain.ts"
import { plannedFrom } from "#runtime/coordinator/model/plan.ts"
import { gated, steered, synthesized } from "#runtime/coordinator/outcome.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { steeringAsk } from "#runtime/coordinator/steering/ask.ts"
import { CoordinatorStore, type Save } from "#runtime/coordinator/store.ts"
import { plannedItems } from "#runtime/coordinator/test/items.ts"
import { aState, childIsReady } from "#runtime/coordinator/test/states.ts"
import { askedQuestion } from "#test/support/asked-question.ts"
import { coreServices } from "#test/support/core-services.ts"

const services = CoordinatorStore.layer.pipe(Layer.provideMerge(coreServices()))
const { roster } = aState()
const spec = { projectId: null, submittedBy: "ada", goal: "make it work", startMode: "direct", roster } as const

const loaded = Effect.fnUntraced(function* (runId: string) {
  const state = yield* (yield* CoordinatorStore).load(runId)
  return state ?? (yield* Effect.die("it is gone"))
})

/** What is stored of it; how children stand is seen anew each time. */
const rowsOf = ({ children: _, ...state }: CoordinatorState) => state

/** Writes a change, and checks that what is read back is what was meant. */
const write = Effect.fnUntraced(function* (
  runId: string,
  changes: (state: CoordinatorState) => ReadonlyArray<Change>,
  more: Partial<Save> = {},
) {
  const store = yield* CoordinatorStore
  const state = yield* loaded(runId)
  const these = changes(state)
  const saved = yield* store.save({ state, changes: these, ...more })
  const found = yield* loaded(runId)
  const meant = evolveAll(state, these)
  // what the run itself becomes is the business of its own table
  const { run, ...rest } = rowsOf({ ...meant, version: state.version + 1 })
  expect(rowsOf(found)).toMatchObject(rest)
  expect(found.run.status).toBe(run.status)
  expect(saved._tag).toBe("Saved")
  return found
})

const dispatch = Effect.fnUntraced(function* (
  runId: string,
  place: number,
  attempt: number,
  more: { readonly driven?: true } = {},
) {
  const { plan } = yield* loaded(runId)
  const subtaskId = plan?.subtasks[place]?.subtaskId ?? 0
  const childRunId = newId()
  const child = {
    projectId: null,
    submittedBy: "",
    agentName: "Vera",
    task: "x",
    runId: childRunId,
    parentRunId: runId,
    subtaskId,
    ...more,
  }
  yield* write(runId, () => [{ _tag: "Dispatched", subtaskId, attempt, childRunId }], { child })
  return { subtaskId, childRunId }
})

/** A run with two subtasks, of which the first is worked on. */
const working = Effect.gen(function* () {
  const store = yield* CoordinatorStore
  const { runId } = yield* store.start(spec)
  const [specId = 0] = yield* store.reserve(1)
  const planIds = yield* store.reserve(3)
  yield* write(runId, (state) => [{ _tag: "Started" }, ...synthesized(state, specId)])
  const parts = { items: plannedItems(2, []), adjustments: [] }
  yield* write(runId, () => [
    plannedFrom(parts, { workflowId: null, gates: ["rai"] }, planIds),
    { _tag: "DispatchBegan" },
  ])
  return { runId, childRunId: (yield* dispatch(runId, 0, 1, { driven: true })).childRunId }
})

const decideLast = (state: CoordinatorState): ReadonlyArray<Change> => {
  const directive = state.directives.at(-1)
  if (directive === undefined) return []
  const seen = {
    ...state,
    children: Object.fromEntries(
      Object.entries(state.children).map(([id, child]) => [id, { ...child, touchedFiles: ["a.ts"] }]),
    ),
  }
  return steered(seen, directive.directiveId, builtIn(steeringAsk(seen, directive)), "2026-01-01T00:00:00.000Z")
}

const at = "2026-01-01T00:00:00.000Z"

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("the store of coordinators", (it) => {
  it.effect("reads back what a change made, through a whole run with every kind of steering", () =>
    Effect.gen(function* () {
      const store = yield* CoordinatorStore
      const runs = yield* Runs
      const { runId } = yield* store.start(spec)
      const ids = yield* store.reserve(3)
      yield* write(runId, () => [{ _tag: "Started" }])
      yield* write(runId, (state) => synthesized(state, ids[0] ?? 0))
      const parts = { items: plannedItems(2, [[2, 1]]), adjustments: [{ item: 3, reason: "no_title" }] }
      const planIds = yield* store.reserve(3)
      yield* write(runId, () => [plannedFrom(parts, { workflowId: "w", gates: ["rai"] }, planIds)])
      yield* write(runId, () => [{ _tag: "DispatchBegan" }])
      const first = yield* dispatch(runId, 0, 1)
      yield* write(runId, () => [
        {
          _tag: "ChildStalled",
          subtaskId: first.subtaskId,
          childRunId: first.childRunId,
          staleSince: 0,
          lastSequence: 1,
          redispatched: true,
          at: 1,
        },
      ])
      expect(yield* runs.get(first.childRunId)).toMatchObject({ status: "failed", result: "cancelled" })
      const again = yield* dispatch(runId, 0, 2)
      yield* runs.transition(again.childRunId, childIsReady)
      yield* write(runId, () => [{ _tag: "ChildSettled", subtaskId: again.subtaskId, end: "assemble_ready" }])
      const second = yield* dispatch(runId, 1, 1)
      yield* runs.transition(second.childRunId, childIsReady)
      yield* write(runId, () => [
        { _tag: "ChildSettled", subtaskId: second.subtaskId, end: "assemble_ready" },
        { _tag: "ChildrenCompleted" },
        { _tag: "AssemblyStarted" },
        { _tag: "Integrated", commit: "c", treeHash: "tree", hasChanges: true },
        { _tag: "GateStarted", gateId: "g" },
      ])
      const rejected = {
        _tag: "Rejected",
        verdict: "revise",
        summary: "no",
        severity: "request-changes",
        targetFiles: null,
      } as const
      yield* write(runId, (state) => gated(state, "rai", rejected, { id: ids[1] ?? 0, at }))
      const redone = yield* write(runId, decideLast)
      expect(redone.plan?.status).toBe("dispatching")
      expect(redone.plan?.subtasks.map(({ status, assignedAgent }) => [status, assignedAgent])).toEqual([
        ["pending", "Otto"],
        ["pending", "Otto"],
      ])
      for (const place of [0, 1]) {
        const child = yield* dispatch(runId, place, place === 0 ? 3 : 2)
        yield* runs.transition(child.childRunId, childIsReady)
        yield* write(runId, () => [{ _tag: "ChildSettled", subtaskId: child.subtaskId, end: "assemble_ready" }])
      }
      yield* write(runId, (state) => [
        { _tag: "DirectiveApplied", directiveId: state.directives[0]?.directiveId ?? 0 },
        { _tag: "ChildrenCompleted" },
        { _tag: "AssemblyStarted" },
        { _tag: "Integrated", commit: "c2", treeHash: "tree2", hasChanges: true },
        { _tag: "GateStarted", gateId: "g2" },
        { _tag: "GatePassed", verdict: "green", summary: "" },
      ])
      yield* write(runId, () => [{ _tag: "ReviewRequested", diff: "+a", gateId: "r" }])
      yield* write(runId, () => [{ _tag: "ReviewApproved", by: "eve" }])
      yield* write(runId, () => [{ _tag: "Merged", commit: "m" }])
      yield* write(runId, () => [{ _tag: "Scribed", failure: "no ink" }])
      yield* write(runId, () => [{ _tag: "Completed" }])
      const run = yield* runs.get(runId)
      expect(run).toMatchObject({ status: "merged", mergedCommitHash: "m", coordinatorStatus: "complete" })

      const events = yield* (yield* EventLog).read(runId)
      const because = (type: string) => {
        const event = events.findLast((each) => each.type === type)
        return explain(events, event?.sequence ?? 0)?.because.map((each) => each.type)
      }
      expect(because("subtask.dispatched")).toEqual(["coordinator.steering_received", "coordinator.steering_decision"])
      expect(because("coordinator.steering_decision")).toEqual(["coordinator.steering_received"])
      expect(because("coordinator.assembly_merge_completed")).toEqual([
        "coordinator.assembly_review_approved",
        "coordinator.assembly_merge_started",
      ])
      expect(explain(events, 1)).toBeUndefined()
      const decision = events.find(({ type }) => type === "coordinator.steering_decision")
      expect(JSON.parse(decision?.payload ?? "")).toMatchObject({
        budgetBefore: { steeringIterations: 0, recoveryAttempts: [{ used: 1 }, { used: 0 }] },
        budgetAfter: { steeringIterations: 1, recoveryAttempts: [{ used: 2 }, { used: 1 }] },
        candidates: [{ eligibleAgents: ["Vera", "Otto"] }, { eligibleAgents: ["Vera", "Otto"] }],
      })
    }),
  )

  it.effect("refuses a writer whose fence is old, and one who decided on an old version", () =>
    Effect.gen(function* () {
      const store = yield* CoordinatorStore
      const { runId } = yield* store.start(spec)
      const state = yield* loaded(runId)
      const [claimed] = (yield* store.claim("one", 60, 100)).filter((each) => each.runId === runId)
      expect(claimed).toMatchObject({ fence: 1, takenOver: false, takes: 1 })
      const stale = yield* Effect.flip(store.save({ state, changes: [{ _tag: "Started" }], fence: 0 }))
      expect(stale).toMatchObject({ code: "lease_lost" })
      expect((yield* store.save({ state, changes: [{ _tag: "Started" }], fence: 1 }))._tag).toBe("Saved")
      expect((yield* store.save({ state, changes: [{ _tag: "Started" }], fence: 1 }))._tag).toBe("Stale")
    }),
  )

  it.effect("gives a run to one of those who ask for it, and only when it is due", () =>
    Effect.gen(function* () {
      const store = yield* CoordinatorStore
      const { runId } = yield* store.start(spec)
      const mine = (claimed: ReadonlyArray<{ readonly runId: string }>) =>
        claimed.filter((each) => each.runId === runId)
      const both = yield* Effect.all([store.claim("one", 60, 100), store.claim("two", 60, 100)], { concurrency: 2 })
      expect(both.flatMap(mine)).toHaveLength(1)
      yield* store.rest(runId, 1, 1, null)
      expect(mine(yield* store.claim("one", 60, 100))).toEqual([])
      yield* write(runId, () => [{ _tag: "Started" }])
      expect(mine(yield* store.claim("one", 60, 100))).toHaveLength(1)
    }),
  )

  it.effect("leaves a run due that was changed while its driver went to rest", () =>
    Effect.gen(function* () {
      const store = yield* CoordinatorStore
      const { runId } = yield* store.start(spec)
      const [claimed] = (yield* store.claim("one", 60, 100)).filter((each) => each.runId === runId)
      yield* write(runId, () => [{ _tag: "Started" }])
      yield* store.rest(runId, claimed?.fence ?? 0, 1, null)
      expect((yield* store.claim("two", 60, 100)).filter((each) => each.runId === runId)).toHaveLength(1)
    }),
  )

  it.effect("writes nothing for a run that has ended", () =>
    Effect.gen(function* () {
      const store = yield* CoordinatorStore
      const { runId } = yield* store.start(spec)
      const state = yield* loaded(runId)
      yield* (yield* Runs).cancel(runId, { reason: "cancelled", by: "ada" })
      const late = yield* Effect.flip(store.save({ state, changes: [{ _tag: "Started" }] }))
      expect(late).toMatchObject({ code: "run_not_active" })
      yield* store.claim("one", 60, 100)
      const [row] = yield* (yield* Sql)`select due_at from coordinators where run_id = ${runId}`
      expect(row).toEqual({ due_at: null })
    }),
  )

  it.effect("settles the plan of a run that ends, by its driver or from outside, and ends its children", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const failure = { _tag: "Failed", reason: "x", message: "It broke.", retryable: false } as const
      const sql = yield* Sql
      const cancelMerged = (runId: string) =>
        Effect.andThen(
          sql`update work_plans set tree_hash = 't', approved_tree_hash = 't', merged_commit = 'm'
               where coordinator_run_id = ${runId}`,
          runs.cancel(runId, { reason: "cancelled", by: "ada" }),
        )
      const ways = [
        { end: (runId: string) => write(runId, () => [{ _tag: "Stopped", by: "ada" }]), status: "cancelled" },
        { end: (runId: string) => write(runId, () => [failure]), status: "assembly_failed" },
        { end: (runId: string) => runs.cancel(runId, { reason: "cancelled", by: "ada" }), status: "cancelled" },
        { end: cancelMerged, status: "complete" },
      ]
      for (const { end, status } of ways) {
        const { runId, childRunId } = yield* working
        yield* end(runId)
        const { plan, run } = yield* loaded(runId)
        expect(plan?.status).toBe(status)
        expect(plan?.subtasks.map((each) => [each.status, each.attempts[0]?.end])).toEqual([
          ["failed", "stopped"],
          ["pending", undefined],
        ])
        expect(run.status).toBe("failed")
        expect(yield* runs.get(runId)).toMatchObject({ coordinatorStatus: status })
        expect((yield* runs.get(childRunId)).endedAt).not.toBeNull()
      }
    }),
  )

  it.effect("writes an answer of autopilot once, and none where a person was faster", () =>
    Effect.gen(function* () {
      const { runId, childRunId } = yield* working
      const ask = Effect.gen(function* () {
        const { requestId, look } = yield* askedQuestion(childRunId, "why?")
        // as the child's worker leaves it when it rests
        yield* (yield* Sql)`update run_work set waits_for = ${[requestId]}::text[] where run_id = ${childRunId}`
        const change = {
          _tag: "QuestionAnswered",
          childRunId,
          requestId,
          question: "why?",
          answer: "Because.",
        } as const
        return { change, look }
      })
      const { change: first, look } = yield* ask
      const asked = yield* loaded(runId)
      expect(asked.children[childRunId]?.questions).toEqual([{ requestId: first.requestId, question: "why?" }])
      const answered = yield* write(runId, () => [first])
      expect(answered.children[childRunId]?.questions).toEqual([])
      expect(yield* look).toEqual({ _tag: "Answered", answer: "Because." })
      const log = yield* (yield* EventLog).read(runId)
      const because = explain(log, log.at(-1)?.sequence ?? 0)?.because.map(({ type }) => type)
      expect(because).toEqual(["coordinator.child_question"])
      const { change: second } = yield* ask
      const state = yield* loaded(runId)
      yield* (yield* RunControl).answer(runId, second.requestId, "Never mind.", "ada")
      const late = yield* Effect.flip((yield* CoordinatorStore).save({ state, changes: [second] }))
      expect(late).toMatchObject({ code: "no_pending_question" })
      const told = yield* (yield* EventLog).read(runId, { type: "coordinator.autopilot_answered" })
      expect(told).toHaveLength(1)
    }),
  )

  it.effect("is gone with its run", () =>
    Effect.gen(function* () {
      const store = yield* CoordinatorStore
      const { runId } = yield* store.start(spec)
      yield* write(runId, () => [{ _tag: "Started" }])
      yield* (yield* Runs).remove(runId, "ada")
      expect(yield* store.load(runId)).toBeUndefined()
      const gone = yield* Effect.flip(
        store.decide(runId, (state, stamp) =>
          Effect.fromResult(
            reviewAssembly(
              state,
              { approved: true, requestChanges: false, feedback: "", targetFiles: null, by: "ada" },
              stamp,
            ),
          ),
        ),
      )
      expect(gone).toMatchObject({ code: "run_not_found" })
    }),
  )
})
