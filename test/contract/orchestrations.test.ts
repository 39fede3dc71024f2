/** The routes of orchestrations: what is refused and why, what twice the same comes to, and the shape of each answer. */
import { renameSync } from "node:fs"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newId } from "#core/ids.ts"
import { steer as decide } from "#policies/steering/steer.ts"
import { steered } from "#runtime/coordinator/outcome.ts"
import { steeringAsk } from "#runtime/coordinator/steering/ask.ts"
import { begun, idle, short } from "#test/contract/orchestration.ts"
import { TestDatabase } from "#test/support/database.ts"
import { agentThat, makeOrchestra } from "#test/support/orchestra.ts"

/** A body of a start beside a good goal, and what its refusal says. */
const wrongStarts: ReadonlyArray<readonly [body: object, message: string]> = [
  [{ goal: undefined }, "goal is required."],
  [{ goal: " \n" }, "goal is required."],
  [{ modelId: "llama-3" }, "model_id is not allowed."],
  [{ modelId: "gpt/../x" }, "model_id is not allowed."],
  [{ start_mode: "later" }, "start_mode must be direct or defineOutcome."],
  [{ start_mode: "__proto__" }, "start_mode must be direct or defineOutcome."],
  [{ workflow_override_id: "w" }, "There is no workflow with this id."],
]

const directiveShape = {
  id: expect.any(Number),
  coordinatorRunId: expect.any(String),
  instruction: expect.any(String),
  createdBy: "ada",
  createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
}

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("an orchestration's routes", (it) => {
  it.effect("refuse a start that is none, and make no run of it", () =>
    Effect.gen(function* () {
      const { call, projectId, repository, service } = yield* makeOrchestra(agentThat([]), idle)
      const path = `/api/projects/${projectId}/orchestrations`
      for (const [body, message] of wrongStarts) {
        const answer = yield* call("POST", path, { goal: "Write it", ...body })
        expect(short(answer), JSON.stringify(body)).toBe("400 invalid_request")
        expect(answer.body.message).toBe(message)
      }
      for (const body of [{ goal: "x".repeat(32_001) }, { goal: 1 }, { goal: "x", autopilot: "yes" }, []]) {
        expect((yield* call("POST", path, body)).status).toBe(400)
      }
      expect(short(yield* call("POST", path, { goal: "x" }, "eve"))).toBe("403 forbidden")
      expect((yield* call("POST", `/api/projects/${newId()}/orchestrations`, { goal: "x" })).status).toBe(404)
      expect(yield* service.sql`select from runs where project_id = ${projectId}`).toHaveLength(0)
      const aliased = { goal: "x", start_mode: "define_outcome", autoApproveTools: true, autopilot: true }
      const started = yield* call("POST", path, aliased)
      expect(started).toEqual({ status: 201, body: { runId: expect.any(String) } })
      const again = yield* call("POST", path, aliased)
      expect(again.body.runId, "without a key it is another one").not.toBe(started.body.runId)
      const run = yield* call("GET", `/api/runs/${started.body.runId}`)
      expect(run.body).toMatchObject({ agent_name: "Coordinator", parent_run_id: null, status: "pending" })
      renameSync(repository.path, `${repository.path}-away`)
      expect(short(yield* call("POST", path, { goal: "x" }))).toBe("409 workspace_unavailable")
      renameSync(`${repository.path}-away`, repository.path)
    }),
  )

  it.effect("show the outcome, and take its confirmation and revision once it is there", () =>
    Effect.gen(function* () {
      const { ids, on, drafted, call, start } = yield* begun({ start_mode: "defineOutcome" })
      // both wait a little for what may be about to come
      const early = yield* Effect.all([on("GET", "/outcome-spec"), on("GET", "/work-plan")], { concurrency: 2 })
      expect(early.map(short)).toEqual(["404 not_found", "404 not_found"])
      expect(short(yield* on("POST", "/outcome-spec/confirm"))).toBe("409 no_pending_gate")
      const revise = (feedback?: unknown) => on("POST", "/outcome-spec/revise", { feedback })
      expect(short(yield* revise("Better"))).toBe("409 no_pending_gate")
      yield* drafted
      const spec = {
        ...{ specId: ids.specId, goal: "Write it", desiredOutcome: "It is written", scope: "all", assumptions: "none" },
        ...{ clarifyingQuestions: "Why?", status: "awaiting_confirmation", allowTaskPromotion: false },
      }
      expect(yield* on("GET", "/outcome-spec")).toEqual({ status: 200, body: spec })
      for (const feedback of [undefined, null, " ", "x".repeat(8_001)]) {
        expect((yield* revise(feedback)).status).toBe(400)
      }
      expect(yield* revise("Better")).toEqual({ status: 200, body: { ...spec, status: "drafting" } })
      expect(short(yield* revise("Better"))).toBe("409 no_pending_gate")
      expect(short(yield* on("POST", "/outcome-spec/confirm"))).toBe("409 no_pending_gate")
      yield* drafted
      const confirmed = { ...spec, status: "confirmed", confirmedBy: "ada", allowTaskPromotion: true }
      for (const body of [{ allowTaskPromotion: true }, undefined]) {
        expect(yield* on("POST", "/outcome-spec/confirm", body)).toEqual({ status: 200, body: confirmed })
      }
      expect(short(yield* revise("Too late"))).toBe("409 no_pending_gate")
      const over = yield* begun({ start_mode: "defineOutcome" })
      yield* over.drafted
      for (const one of [over, { on }]) yield* one.on("POST", "/cancel")
      const ended = { error: "run_not_active", status: "failed", detail: "The run has ended: failed (cancelled)." }
      const late = [
        revise("Too late"),
        over.on("POST", "/outcome-spec/confirm"),
        over.on("POST", "/outcome-spec/confirm"),
      ]
      for (const asked of late) {
        expect(yield* asked).toEqual({ status: 409, body: { ...ended, message: "Run is not active." } })
      }
      expect((yield* on("POST", "/outcome-spec/confirm")).body).toEqual(confirmed)
      // a run of one agent has none of it
      const plain = yield* start("Write a file")
      for (const rest of ["/outcome-spec", "/work-plan", "/children", "/explain"]) {
        expect((yield* call("GET", `/api/runs/${plain}${rest}`)).status, rest).toBe(404)
        expect((yield* call("GET", `/api/runs/${newId()}${rest}`)).status, rest).toBe(404)
        expect((yield* call("GET", `/api/runs/1${rest}`)).status, rest).toBe(400)
      }
    }),
  )

  it.effect("show the plan and its children in camelCase, and leave out what is not known", () =>
    Effect.gen(function* () {
      const { ids, on, planned, child, runId } = yield* begun()
      yield* planned
      expect((yield* on("GET", "/children")).body).toEqual([])
      const childRunId = yield* child(ids.one)
      const subtask = {
        ...{ scope: "", assignedAgent: "Vera", selectedModelId: "gpt-5", phase: "execution", isolation: "worktree" },
      }
      expect((yield* on("GET", "/work-plan")).body).toEqual({
        workPlanId: ids.workPlanId,
        coordinatorRunId: runId,
        outcomeSpecId: ids.specId,
        status: "dispatching",
        isolationSummary: "2 worktree",
        workflowId: null,
        assemblyStage: null,
        assemblyTerminalStage: null,
        subtasks: [
          { subtaskId: ids.one, title: "part 1", ...subtask, status: "dispatched", childRunId },
          { subtaskId: ids.two, title: "part 2", ...subtask, status: "pending" },
        ],
        dependencies: [{ subtaskId: ids.two, dependsOnSubtaskId: ids.one }],
      })
      expect((yield* on("GET", "/children")).body).toEqual([
        {
          ...{ subtaskId: ids.one, childRunId, subtaskStatus: "dispatched", assignedAgent: "Vera" },
          ...{ selectedModelId: "gpt-5", childRunStatus: "pending", stepCount: 0 },
        },
      ])
      expect((yield* on("GET", "/explain")).body).toMatchObject({
        event: { type: "subtask.dispatched" },
        because: [{ type: "coordinator.work_plan" }],
      })
      expect((yield* on("GET", "/explain?seq=0")).status).toBe(400)
      expect(short(yield* on("GET", "/explain?seq=1"))).toBe("404 not_found")
      expect((yield* on("GET", "")).body).toMatchObject({ coordinator_status: "dispatching" })
    }),
  )

  it.effect("start lost work again as often as the budget of recoveries allows, and store nothing after", () =>
    Effect.gen(function* () {
      const { ids, on, planned, child, change, runId, store } = yield* begun()
      const steer = (body: object) => on("POST", "/steer", body)
      yield* planned
      const fails = Effect.fnUntraced(function* (attempt: number) {
        const childRunId = yield* child(ids.one, attempt)
        yield* change(() => [{ _tag: "ChildSettled", subtaskId: ids.one, end: "failed" }])
        return childRunId
      })
      /** As the driver decides it. */
      const decided = Effect.fnUntraced(function* (directiveId: number) {
        yield* change((state) => {
          const directive = state.directives.find((each) => each.directiveId === directiveId)
          if (directive === undefined) throw new Error("it was not stored")
          return steered(state, directiveId, decide(steeringAsk(state, directive)), directive.createdAt)
        })
        yield* change(() => [{ _tag: "DirectiveApplied", directiveId }])
      })
      yield* fails(1)
      for (const attempt of [2, 3, 4]) {
        const again = yield* steer({ kind: "dispatch-fresh" })
        expect(again).toMatchObject({ status: 201, body: { kind: "dispatch-fresh", status: "pending" } })
        yield* decided(again.body.id)
        if (attempt < 4) yield* fails(attempt)
      }
      const target_child_run_id = yield* fails(4)
      const before = yield* store.load(runId)
      expect(before?.plan?.subtasks[0]).toMatchObject({ status: "failed", recoveryAttempts: 3 })
      const spent = { error: "steering_recovery_exhausted", message: expect.stringContaining("3 times already") }
      for (const body of [{}, {}, { target_child_run_id, instruction: "Once more" }]) {
        expect(yield* steer({ kind: "dispatch-fresh", ...body })).toEqual({ status: 409, body: spent })
      }
      expect(yield* store.load(runId)).toEqual(before)
      // who wants something else starts the budgets anew
      const redirected = yield* steer({ kind: "redirect", target_child_run_id, instruction: "Another way" })
      expect(redirected.status).toBe(201)
      yield* decided(redirected.body.id)
      expect((yield* store.load(runId))?.plan?.subtasks[0]).toMatchObject({ status: "pending", recoveryAttempts: 1 })
    }),
  )

  it.effect("take directives of every kind, and refuse those that mean nothing", () =>
    Effect.gen(function* () {
      const { ids, on, planned, child, service } = yield* begun()
      const steer = (body: object) => on("POST", "/steer", body)
      const [kindless] = [yield* steer({})]
      expect(kindless).toMatchObject({ status: 400, body: { message: "kind is required." } })
      for (const kind of ["pause", "dance", "constructor"]) expect((yield* steer({ kind })).status, kind).toBe(400)
      expect(short(yield* steer({ kind: "amend", instruction: "x" }))).toBe("400 steering_invalid")
      yield* planned
      const target = yield* child(ids.one)
      for (const kind of ["redirect", "amend"]) {
        expect(short(yield* steer({ kind, instruction: " " })), kind).toBe("400 steering_invalid")
      }
      expect((yield* steer({ kind: "send", instruction: "x".repeat(8_001) })).status).toBe(400)
      const stranger = { kind: "stop", target_child_run_id: newId() }
      expect(short(yield* steer(stranger))).toBe("400 steering_invalid")
      expect(short(yield* steer({ kind: "dispatch-fresh" }))).toBe("400 steering_invalid")
      const sent = yield* steer({ kind: "send", targetChildRunId: target, instruction: "Mind the gap" })
      expect(sent).toEqual({
        status: 201,
        body: {
          ...directiveShape,
          targetChildRunId: target,
          kind: "send",
          instruction: "Mind the gap",
          status: "pending",
        },
      })
      // said twice it is two directives
      const again = yield* steer({ kind: "send", target_child_run_id: target, instruction: "Mind the gap" })
      expect(again.body.id).toBeGreaterThan(sent.body.id)
      const all = yield* steer({ kind: "redirect", instruction: "Another way" })
      expect(all.body).toEqual({ ...directiveShape, kind: "redirect", instruction: "Another way", status: "pending" })
      const stop = { kind: "stop", target_child_run_id: target }
      expect(yield* steer(stop)).toMatchObject({
        status: 201,
        body: { status: "applied", relayedAt: expect.any(String) },
      })
      expect(yield* service.runs.get(target)).toMatchObject({ result: "steering_stop" })
      expect(short(yield* steer(stop))).toBe("400 steering_invalid")
      expect((yield* steer({ kind: "stop" })).status).toBe(201)
      expect(short(yield* steer({ kind: "stop" }))).toBe("409 run_not_active")
    }),
  )
})
