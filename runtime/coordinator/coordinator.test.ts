import { expect, layer } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Runs } from "#core/run/runs.ts"
import { Sql } from "#core/sql.ts"
import { steer } from "#runtime/coordinator/command/steer.ts"
import { type Decided, rearm, reviewAssembly } from "#runtime/coordinator/command.ts"
import { driveCoordinator } from "#runtime/coordinator/coordinator.ts"
import type { Stamp } from "#runtime/coordinator/outcome.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"
import { type FakeWorld, fakeWorld, isCrash, layerFakeWorld } from "#runtime/coordinator/test/fake-world.ts"
import { aState } from "#runtime/coordinator/test/states.ts"
import { coreServices } from "#test/support/core-services.ts"

const services = CoordinatorStore.layer.pipe(Layer.provideMerge(coreServices()))

const start = Effect.gen(function* () {
  const store = yield* CoordinatorStore
  const { roster } = aState()
  const { runId } = yield* store.start({
    projectId: null,
    submittedBy: "ada",
    goal: "make it work",
    startMode: "direct",
    roster,
  })
  return runId
})

/** One driver takes the run, if it is due, and drives it until it rests or crashes. */
const driveOnce = Effect.fnUntraced(function* (runId: string, world: FakeWorld) {
  const store = yield* CoordinatorStore
  const sql = yield* Sql
  yield* sql`update coordinators set due_at = now() where run_id = ${runId}`
  const claimed = (yield* store.claim("driver", 60, 100)).filter((each) => each.runId === runId)
  for (const each of claimed) {
    const exit = yield* Effect.exit(driveCoordinator(each, Effect.never).pipe(Effect.provide(layerFakeWorld(world))))
    if (Exit.isSuccess(exit)) continue
    const crashed = exit.cause.reasons.some((reason) => Cause.isDieReason(reason) && isCrash(reason.defect))
    if (!crashed) return yield* Effect.failCause(exit.cause)
    // the process is dead: its lease runs out
    yield* sql`update runs set lease_until = now() - interval '1 second' where run_id = ${runId}`
  }
})

/** Every child that waits for a worker does its part. */
const childrenWork = Effect.fnUntraced(function* (runId: string) {
  const runs = yield* Runs
  const sql = yield* Sql
  const children = yield* sql<{ readonly runId: string }>`
    select run_id as "runId" from runs where parent_run_id = ${runId} and ended_at is null`
  for (const child of children) {
    yield* runs.transition(child.runId, {
      _tag: "AssembleReady",
      treeHash: "t",
      worktreeBranch: `svc/${child.runId}`,
      diff: "",
      hasChanges: true,
      raiSafetyFlagged: false,
    })
  }
})

const decided = (runId: string, decision: (state: CoordinatorState, stamp: Stamp) => Decided) =>
  Effect.flatMap(CoordinatorStore, (store) =>
    store.decide(runId, (state, stamp) => Effect.fromResult(decision(state, stamp))),
  )

const approve = (runId: string) =>
  decided(runId, (state, stamp) =>
    reviewAssembly(state, { approved: true, requestChanges: false, feedback: "", targetFiles: null, by: "ada" }, stamp),
  )

/** Drivers, workers and a person who approves, until the run has ended. */
const toTheEnd = Effect.fnUntraced(function* (runId: string, world: FakeWorld) {
  const runs = yield* Runs
  for (let round = 0; round < 40; round++) {
    yield* driveOnce(runId, world)
    yield* childrenWork(runId)
    const run = yield* runs.get(runId)
    if (run.endedAt !== null) return run
    if (run.status === "awaiting_review") yield* approve(runId)
  }
  return yield* runs.get(runId)
})

const typesOf = (runId: string) =>
  Effect.flatMap(EventLog, (log) => Effect.map(log.read(runId), (events) => events.map(({ type }) => type)))

const count = (types: ReadonlyArray<string>, type: string) => types.filter((each) => each === type).length

/** What holds of every run that was merged, however often its driver died. */
const expectMergedOnce = Effect.fnUntraced(function* (runId: string, world: FakeWorld, children: number) {
  const runs = yield* Runs
  const sql = yield* Sql
  expect(yield* runs.get(runId)).toMatchObject({ status: "merged", coordinatorStatus: "complete" })
  expect([...world.merged]).toEqual(["c1"])
  const types = yield* typesOf(runId)
  const once = ["coordinator.work_plan", "coordinator.assembly_started", "coordinator.assembly_merge_started"]
  const ends = ["coordinator.assembly_merge_completed", "coordinator.assembly_completed", "merge.completed"]
  for (const type of [...once, ...ends]) expect(count(types, type), type).toBe(1)
  expect(count(types, "subtask.dispatched")).toBe(children)
  const born = yield* sql`select from runs where parent_run_id = ${runId}`
  expect(born).toHaveLength(children)
  expect(types.at(-1)).toBe("merge.completed")
})

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("a coordinator", (it) => {
  it.effect("brings a goal from its plan to one merge, and tells of every step", () =>
    Effect.gen(function* () {
      const world = fakeWorld({ edges: [[2, 1]] })
      const runId = yield* start
      const run = yield* toTheEnd(runId, world)
      expect(run).toMatchObject({ status: "merged", result: "merged:c1", coordinatorStatus: "complete" })
      const types = (yield* typesOf(runId)).filter((type) => !/topology|graph/.test(type))
      expect(types).toEqual([
        "run.started",
        "coordinator.started",
        "coordinator.outcome_spec",
        "coordinator.outcome_spec.confirmed",
        "coordinator.work_plan",
        "subtask.dispatched",
        "subtask.assemble_ready",
        "subtask.dispatched",
        "subtask.assemble_ready",
        "coordinator.children_complete",
        "coordinator.assembly_started",
        "coordinator.assembly_rai_started",
        "coordinator.assembly_rai_completed",
        "coordinator.assembly_review_requested",
        "coordinator.assembly_gate_completed",
        "coordinator.assembly_review_requested",
        "review.requested",
        "coordinator.assembly_review_approved",
        "coordinator.assembly_merge_started",
        "review.approved",
        "merge.started",
        "coordinator.assembly_merge_completed",
        "coordinator.assembly_scribe_started",
        "coordinator.assembly_scribe_completed",
        "coordinator.assembly_completed",
        "merge.completed",
      ])
    }),
  )

  it.effect("comes to the same end wherever its driver dies, before or after what it was doing was done", () =>
    Effect.gen(function* () {
      let crashes = 0
      for (const crashAfter of [false, true]) {
        for (let crashAt = 1; ; crashAt++) {
          const world = fakeWorld({ items: 1, crashAt, crashAfter })
          const runId = yield* start
          yield* toTheEnd(runId, world)
          yield* expectMergedOnce(runId, world, 1)
          if (world.calls.length < crashAt) break
          crashes++
          expect(count(yield* typesOf(runId), "coordinator.recovered")).toBe(1)
        }
      }
      expect(crashes).toBe(16)
    }),
  )

  it.effect("takes nothing from a driver that was replaced", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      const store = yield* CoordinatorStore
      const runId = yield* start
      const reached = yield* Deferred.make<void>()
      const goOn = yield* Deferred.make<void>()
      const slow = fakeWorld({
        items: 1,
        before: (call) =>
          call === "decompose"
            ? Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(goOn))
            : Effect.void,
      })
      const [claimed] = (yield* store.claim("slow", 60, 100)).filter((each) => each.runId === runId)
      if (claimed === undefined) return yield* Effect.die("nothing was due")
      const paused = yield* Effect.forkChild(
        driveCoordinator(claimed, Effect.never).pipe(Effect.provide(layerFakeWorld(slow))),
      )
      yield* Deferred.await(reached)
      yield* sql`update runs set lease_until = now() - interval '1 second' where run_id = ${runId}`
      const world = fakeWorld({ items: 1 })
      yield* driveOnce(runId, world)
      const before = yield* store.load(runId)
      yield* Deferred.succeed(goOn, undefined)
      yield* Fiber.join(paused)
      expect(yield* store.load(runId)).toEqual(before)
      yield* toTheEnd(runId, world)
      yield* expectMergedOnce(runId, world, 1)
    }),
  )

  it.effect("tries again later where the world is away", () =>
    Effect.gen(function* () {
      const world = fakeWorld({ items: 1, awayOnce: "decompose" })
      const runId = yield* start
      yield* driveOnce(runId, world)
      expect((yield* (yield* Runs).get(runId)).status).toBe("in_progress")
      const log = yield* EventLog
      const told = (yield* log.read(runId)).slice(-2).map(({ type, payload }) => [type, JSON.parse(payload)])
      expect(told).toEqual([
        ["run.error", { reason: "away" }],
        [
          "coordinator.step_retrying",
          { step: "Decompose", reason: "away", attempt: 1, maxAttempts: 20, retryInSeconds: 2 },
        ],
      ])
      yield* toTheEnd(runId, world)
      yield* expectMergedOnce(runId, world, 1)
      expect(count(world.calls, "decompose")).toBe(2)
    }),
  )

  it.effect("holds back what a policy refuses to show to people, until somebody lets it go on", () =>
    Effect.gen(function* () {
      const world = fakeWorld({ items: 1, refusedOnce: "diff" })
      const runId = yield* start
      yield* toTheEnd(runId, world)
      const state = yield* (yield* CoordinatorStore).load(runId)
      expect(state?.plan).toMatchObject({ status: "assembly_blocked", statusReason: "refused_by_policy" })
      expect(state?.run.status).toBe("in_progress")
      yield* decided(runId, (found) => rearm(found, "ada"))
      yield* toTheEnd(runId, world)
      yield* expectMergedOnce(runId, world, 1)
    }),
  )

  it.effect("has the same author's work done again where a gate rejects it and nobody else is left", () =>
    Effect.gen(function* () {
      let asked = 0
      const world = fakeWorld({
        items: 1,
        gate: (gate) =>
          gate === "build-test" && ++asked <= 2
            ? {
                _tag: "Rejected",
                verdict: "request_changes",
                summary: "red tests",
                severity: "request-changes",
                targetFiles: ["src/a.ts"],
              }
            : { _tag: "Passed", verdict: "green", summary: "" },
      })
      const runId = yield* start
      yield* toTheEnd(runId, world)
      const state = yield* (yield* CoordinatorStore).load(runId)
      const [subtask] = state?.plan?.subtasks ?? []
      // first to the other writer, then, with both locked out, to whom it was given last
      expect(subtask).toMatchObject({ assignedAgent: "Otto", lockedOutAgents: ["Vera"], recoveryAttempts: 2 })
      expect(subtask?.attempts.map(({ reason }) => reason)).toEqual(["first", "steering", "steering"])
      expect(subtask?.feedback).toEqual(["red tests", "red tests"])
      expect(state?.directives.map(({ status, rationale }) => [status, rationale])).toEqual([
        ["applied", "author_locked_out"],
        ["applied", "single_eligible_agent"],
      ])
      expect(state?.run.status).toBe("merged")
    }),
  )

  it.effect("asks a person once the budgets are used up, and starts anew when that person wants changes", () =>
    Effect.gen(function* () {
      const world = fakeWorld({
        items: 1,
        gate: (gate) =>
          gate === "rai"
            ? { _tag: "Rejected", verdict: "revise", summary: "no", severity: "request-changes", targetFiles: null }
            : { _tag: "Passed", verdict: "green", summary: "" },
      })
      const store = yield* CoordinatorStore
      const runId = yield* start
      const untilReview = Effect.gen(function* () {
        for (let round = 0; round < 30; round++) {
          yield* driveOnce(runId, world)
          yield* childrenWork(runId)
          const state = yield* store.load(runId)
          if (state?.plan?.status === "in_review") return state
        }
        return undefined
      })
      const escalated = yield* untilReview
      expect(escalated?.plan).toMatchObject({
        steeringIterations: 3,
        assembly: { reason: "recovery_attempts_exhausted", stage: "review" },
      })
      yield* decided(runId, (state, stamp) =>
        reviewAssembly(
          state,
          { approved: false, requestChanges: true, feedback: "other words", targetFiles: null, by: "eve" },
          stamp,
        ),
      )
      expect((yield* store.load(runId))?.run.status).toBe("in_progress")
      const again = yield* untilReview
      expect(again?.plan?.humanReviewRoundTrips).toBe(1)
      expect(again?.plan?.subtasks[0]?.feedback).toContain("other words")
      yield* approve(runId)
      yield* toTheEnd(runId, world)
      expect((yield* store.load(runId))?.run.status).toBe("merged")
    }),
  )

  it.effect("sends a real conflict back, and tells of those in which no change was lost, each once", () =>
    Effect.gen(function* () {
      const store = yield* CoordinatorStore
      const runId = yield* start
      let ids: ReadonlyArray<number> = []
      let asked = 0
      const world = fakeWorld({
        awayOnce: "integrate",
        before: (call) =>
          call === "integrate"
            ? Effect.orDie(
                Effect.map(store.load(runId), (state) => {
                  ids = state?.plan?.subtasks.map(({ subtaskId }) => subtaskId) ?? []
                }),
              )
            : Effect.void,
        integration: () => {
          const [one = 0, two = 0] = ids
          if (++asked === 1) return { _tag: "Conflict", subtaskId: two, files: ["src/a.ts"] }
          const settled = [
            { subtaskId: one, files: ["src/b.ts"] },
            { subtaskId: two, files: ["src/b.ts", "src/c.ts"] },
          ]
          return { _tag: "Integrated", commit: "c1", treeHash: "t1", hasChanges: true, settled }
        },
      })
      yield* toTheEnd(runId, world)
      const state = yield* store.load(runId)
      expect(state?.run.status).toBe("merged")
      expect(state?.plan?.subtasks.map(({ attempts }) => attempts.length)).toEqual([1, 2])
      const log = (yield* (yield* EventLog).read(runId)).map(({ type, payload }) => ({ type, ...JSON.parse(payload) }))
      const branches = state?.plan?.subtasks.map(({ attempts }) => `svc/${attempts.at(-1)?.childRunId}`) ?? []
      const settled = "coordinator.integration_conflict_auto_resolved"
      const workPlanId = state?.plan?.workPlanId
      expect(log.filter(({ type }) => type === settled)).toEqual([
        {
          type: settled,
          workPlanId,
          conflictingBranch: branches[0],
          conflictingFiles: ["src/b.ts"],
          strategy: "accept_child",
        },
        {
          type: settled,
          workPlanId,
          conflictingBranch: branches[1],
          conflictingFiles: ["src/b.ts", "src/c.ts"],
          strategy: "accept_child",
        },
      ])
      const types = log.map(({ type }) => type)
      expect(count(types, "merge.conflicted")).toBe(1)
      expect(types.indexOf("merge.conflicted")).toBeLessThan(types.indexOf(settled))
      expect(types.indexOf(settled)).toBeLessThan(types.indexOf("coordinator.assembly_rai_started"))
    }),
  )

  it.effect("stops at once, with all its children, whoever drives it", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const sql = yield* Sql
      const runId = yield* start
      yield* driveOnce(runId, fakeWorld())
      yield* decided(runId, (state, stamp) =>
        steer(state, { kind: "stop", targetChildRunId: null, instruction: "", by: "eve" }, stamp),
      )
      expect(yield* runs.get(runId)).toMatchObject({ status: "failed", result: "steering_stop" })
      const children = yield* sql<{ readonly result: string }>`select result from runs where parent_run_id = ${runId}`
      expect(children.map(({ result }) => result)).toEqual(["steering_stop", "steering_stop"])
      expect((yield* typesOf(runId)).at(-1)).toBe("run.cancelled")
    }),
  )

  it.effect("corrects a child in place: the same run goes on with the words of the person", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const store = yield* CoordinatorStore
      const runId = yield* start
      const world = fakeWorld({ items: 1 })
      yield* driveOnce(runId, world)
      const child = (yield* store.load(runId))?.plan?.subtasks[0]?.attempts[0]?.childRunId ?? ""
      yield* runs.transition(child, { _tag: "Start", worktreePath: null, worktreeBranch: null })
      yield* childrenWork(runId)
      yield* driveOnce(runId, world)
      yield* decided(runId, (state, stamp) =>
        steer(state, { kind: "amend", targetChildRunId: child, instruction: "in Latin", by: "eve" }, stamp),
      )
      yield* driveOnce(runId, world)
      expect(yield* runs.get(child)).toMatchObject({ status: "in_progress", revisions: 1 })
      expect((yield* store.load(runId))?.directives).toMatchObject([
        { status: "relayed", revised: [expect.any(Number)] },
      ])
      yield* toTheEnd(runId, world)
      const state = yield* store.load(runId)
      expect(state?.directives).toMatchObject([{ status: "applied", decision: "in_place_steer" }])
      expect(state?.plan?.subtasks[0]?.attempts).toHaveLength(1)
      expect(state?.run.status).toBe("merged")
    }),
  )

  it.effect("lets one of two who decide at once decide", () =>
    Effect.gen(function* () {
      const store = yield* CoordinatorStore
      const world = fakeWorld({ items: 1 })
      const runId = yield* start
      for (let round = 0; round < 2; round++) {
        yield* driveOnce(runId, world)
        yield* childrenWork(runId)
      }
      yield* driveOnce(runId, world)
      const state = yield* store.load(runId)
      if (state?.plan?.status !== "in_review") return yield* Effect.die("it is not in review")
      const answers = yield* Effect.all(
        [
          store.save({ state, changes: [{ _tag: "ReviewApproved", by: "ada" }] }),
          store.save({ state, changes: [{ _tag: "ReviewApproved", by: "eve" }] }),
        ],
        { concurrency: 2 },
      )
      expect(answers.map(({ _tag }) => _tag).sort()).toEqual(["Saved", "Stale"])
      expect(count(yield* typesOf(runId), "coordinator.assembly_review_approved")).toBe(1)
    }),
  )
})
