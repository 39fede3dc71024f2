/** Orchestrations for tests of their routes: nobody drives them but the test. */
import { Context, Effect } from "effect"
import { newId } from "#core/ids.ts"
import type { Change } from "#runtime/coordinator/change.ts"
import { evolveAll } from "#runtime/coordinator/evolve.ts"
import { plannedFrom } from "#runtime/coordinator/model/plan.ts"
import { synthesized } from "#runtime/coordinator/outcome.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"
import { plannedItems } from "#runtime/coordinator/test/items.ts"
import { agentThat, makeOrchestra } from "#test/support/orchestra.ts"

/** Nobody works on the runs: they stay as the test makes them. */
export const idle = { settings: { Runs: { Workers: 0 } } }

/** `409 conflict`; for an answer that is no refusal, its status and that of the run. */
export const short = ({ status, body }: { status: number; body: { error?: string; status?: string } | null }) =>
  `${status} ${body?.error ?? body?.status ?? ""}`.trim()

/** An orchestration that has begun, and how it is brought further. */
export const begun = Effect.fnUntraced(function* (start: object = {}) {
  const world = yield* makeOrchestra(agentThat([]), idle)
  const { call, projectId, service, repository } = world
  const store = Context.get(service.services, CoordinatorStore)
  const started = yield* call("POST", `/api/projects/${projectId}/orchestrations`, { goal: "Write it", ...start })
  const runId: string = started.body.runId
  const [specId = 0, workPlanId = 0, one = 0, two = 0] = yield* Effect.orDie(store.reserve(4))
  const change = Effect.fnUntraced(function* (
    changes: (state: CoordinatorState) => ReadonlyArray<Change>,
    more: object = {},
  ) {
    const state = (yield* store.load(runId)) ?? (yield* Effect.die("it is gone"))
    const these = changes(state)
    yield* store.save({ state, changes: these, ...more })
    return evolveAll(state, these)
  }, Effect.orDie)
  yield* change(() => [{ _tag: "Started" }])
  const drafted = change(() => [
    {
      _tag: "SpecDrafted",
      specId,
      draft: { desiredOutcome: "It is written", scope: "all", assumptions: "none", clarifyingQuestions: "Why?" },
    },
  ])
  const commit = repository.git("rev-parse", "main")
  const child = (subtaskId: number, attempt = 1) => {
    const childRunId = newId()
    return Effect.as(
      change(() => [{ _tag: "Dispatched", subtaskId, attempt, childRunId }], {
        child: {
          ...{ projectId, submittedBy: "ada", agentName: "Vera", task: "x" },
          ...{ runId: childRunId, parentRunId: runId, subtaskId },
        },
      }),
      childRunId,
    )
  }
  const planned = Effect.gen(function* () {
    yield* change((state) => synthesized(state, specId))
    const parts = { items: plannedItems(2, [[2, 1]]), adjustments: [] }
    yield* change(() => [plannedFrom(parts, { workflowId: null, gates: ["rai"] }, [workPlanId, one, two])])
    yield* change(() => [{ _tag: "DispatchBegan" }])
  })
  /** Both parts are through and put together as that commit. */
  const assembled = Effect.fnUntraced(function* (commit: string) {
    yield* planned
    for (const subtaskId of [one, two]) {
      const runOf = yield* child(subtaskId)
      const ready = { treeHash: "t", worktreeBranch: `svc/${runOf}`, diff: "", hasChanges: true }
      yield* service.runs.transition(runOf, { _tag: "AssembleReady", ...ready, raiSafetyFlagged: false })
      yield* change(() => [{ _tag: "ChildSettled", subtaskId, end: "assemble_ready" }])
    }
    yield* change(() => [{ _tag: "ChildrenCompleted" }, { _tag: "AssemblyStarted" }])
    yield* change(() => [
      { _tag: "Integrated", commit, treeHash: "tree", hasChanges: true },
      { _tag: "GateStarted", gateId: "g" },
    ])
  }, Effect.orDie)
  /** And a person is asked. */
  const reviewable = Effect.gen(function* () {
    yield* assembled(commit)
    yield* change(() => [
      { _tag: "GatePassed", verdict: "green", summary: "" },
      { _tag: "ReviewRequested", diff: "+a", gateId: "r" },
    ])
  })
  const on = (method: string, rest: string, body?: unknown, as?: "ada" | "ben" | "eve") =>
    call(method, `/api/runs/${runId}${rest}`, body, as)
  return {
    ...world,
    ...{ ids: { specId, workPlanId, one, two }, runId, on, change, child, store },
    ...{ drafted, planned, assembled, reviewable },
  }
})
