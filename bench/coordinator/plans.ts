/** Coordinator runs on the bench's database whose agents are through as soon as they are dispatched. */
import { type Context, Effect, Layer, Stream } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Runs } from "#core/run/runs.ts"
import { Settings, settingsForTests } from "#core/settings.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"
import { fakeWorld, layerFakeWorld } from "#runtime/coordinator/test/fake-world.ts"
import { childIsReady } from "#runtime/coordinator/test/states.ts"

/** Plans of four chains with ties between them: every subtask from the fifth stands on one or two earlier ones. */
export const edgesOf = (count: number): ReadonlyArray<readonly [item: number, dependsOn: number]> =>
  Array.from({ length: count }, (_, index) => index + 1).flatMap((item): ReadonlyArray<readonly [number, number]> => {
    const above = [item - 4, ...(item % 3 === 0 ? [item - 5] : [])]
    return above.filter((each) => each > 0).map((each) => [item, each])
  })

/** A world that answers at once, with plans of so many subtasks. */
export const worldOf = (count: number) => layerFakeWorld(fakeWorld({ items: count, edges: edgesOf(count) }))

export const coordinatorServices = CoordinatorStore.layer.pipe(
  Layer.provideMerge(Runs.layer),
  Layer.provideMerge(Layer.succeed(Settings, settingsForTests({}))),
)

/** The store, with agents behind it: a child that is born does its work beside the driver, and tells of it. */
export const withInstantAgents = Layer.effect(
  CoordinatorStore,
  Effect.gen(function* () {
    const store = yield* CoordinatorStore
    const runs = yield* Runs
    const scope = yield* Effect.scope
    return CoordinatorStore.of({
      ...store,
      save: (save) =>
        Effect.tap(store.save(save), (saved) =>
          saved._tag === "Saved" && save.child?.runId !== undefined
            ? Effect.forkIn(Effect.orDie(runs.transition(save.child.runId, childIsReady)), scope)
            : Effect.void,
        ),
    })
  }),
)

export const startPlan = Effect.gen(function* () {
  const store = yield* CoordinatorStore
  const { runId } = yield* store.start({
    projectId: null,
    submittedBy: "ada",
    goal: "make it work",
    startMode: "direct",
    roster: [{ agent: "Vera", role: "writer", modelId: "gpt-5" }],
  })
  return runId
})

/** Waits for an event of this type in the log of a run. */
export const told = (runId: string, type: string) =>
  Effect.flatMap(EventLog, (log) =>
    log.follow(runId).pipe(
      Stream.takeUntil((event) => event.type === type),
      Stream.runDrain,
    ),
  )

export type Services = Context.Service.Identifier<typeof CoordinatorStore> | Runs | EventLog
