import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Runs } from "#core/run/runs.ts"
import { reviewAssembly } from "#runtime/coordinator/command.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"
import { fakeWorld, layerFakeWorld } from "#runtime/coordinator/test/fake-world.ts"
import { aState, childIsReady } from "#runtime/coordinator/test/states.ts"
import { runCoordinators } from "#runtime/coordinator/worker.ts"
import { coreServices } from "#test/support/core-services.ts"

const services = CoordinatorStore.layer.pipe(Layer.provideMerge(coreServices()))

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("the coordinators of two replicas", (it) => {
  it.effect("drive every run to its merge once, woken by what happens", () =>
    Effect.gen(function* () {
      const store = yield* CoordinatorStore
      const runs = yield* Runs
      const log = yield* EventLog
      const world = fakeWorld({ edges: [[2, 1]] })
      for (let replica = 0; replica < 2; replica++) yield* runCoordinators.pipe(Effect.provide(layerFakeWorld(world)))
      const { runId } = yield* store.start({
        projectId: null,
        submittedBy: "ada",
        goal: "make it work",
        startMode: "direct",
        roster: aState().roster,
      })
      const types = yield* log.follow(runId).pipe(
        Stream.tap(({ type, payload }) =>
          Effect.gen(function* () {
            if (type === "subtask.dispatched") {
              const { childRunId } = JSON.parse(payload)
              yield* runs.transition(childRunId, childIsReady)
            }
            if (type !== "review.requested") return
            const decision = { approved: true, requestChanges: false, feedback: "", targetFiles: null, by: "ada" }
            yield* store.decide(runId, (state, stamp) => Effect.fromResult(reviewAssembly(state, decision, stamp)))
          }),
        ),
        Stream.map(({ type }) => type),
        Stream.takeUntil((type) => type === "merge.completed"),
        Stream.runCollect,
      )
      const once = ["coordinator.work_plan", "coordinator.assembly_started", "coordinator.assembly_completed"]
      for (const type of once) expect(types.filter((each) => each === type)).toHaveLength(1)
      expect(types.filter((each) => each === "subtask.dispatched")).toHaveLength(2)
      expect(world.calls.filter((call) => call === "merge")).toHaveLength(1)
    }),
  )
})
