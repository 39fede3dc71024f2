/** An orchestration on a stage: the real driver and the real store, in a world that does what the script says. */
import { Cause, Effect, Exit, Layer } from "effect"
import type { RunCommand } from "#core/run/command.ts"
import { safeTools } from "#core/run/new-run.ts"
import { Runs } from "#core/run/runs.ts"
import { Sql } from "#core/sql.ts"
import type { Decided } from "#runtime/coordinator/command.ts"
import { driveCoordinator } from "#runtime/coordinator/coordinator.ts"
import { defaultLimits } from "#runtime/coordinator/limits.ts"
import type { Stamp } from "#runtime/coordinator/outcome.ts"
import { type CoordinatorState, lastAttempt, type StartMode } from "#runtime/coordinator/state.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"
import { type FakeWorld, fakeWorld, isCrash, layerFakeWorld } from "#runtime/coordinator/test/fake-world.ts"
import { aState } from "#runtime/coordinator/test/states.ts"
import { CoordinatorWorld } from "#runtime/coordinator/world.ts"
import { makeRecorder } from "#test/golden/recorder.ts"
import { recordingOf } from "#test/golden/recording.ts"
import { askedQuestion } from "#test/support/asked-question.ts"

interface Setting extends Partial<FakeWorld> {
  readonly startMode?: StartMode
  readonly autopilot?: boolean
}

/** Every part is counted from 1, as in the plan. */
export const makeStage = Effect.fnUntraced(function* ({
  startMode = "direct",
  autopilot = false,
  ...more
}: Setting = {}) {
  const recorder = makeRecorder(yield* CoordinatorStore)
  const runs = yield* Runs
  const sql = yield* Sql
  const world = fakeWorld({ ...more, integration: more.integration ?? freshTrees() })
  const { store } = recorder
  const { runId } = yield* store.start({
    projectId: null,
    submittedBy: "ada",
    goal: "make it work",
    startMode,
    roster: aState().roster,
    policy: { autoApproveTools: false, autopilot, source: "direct", safeTools },
  })

  const state = Effect.gen(function* () {
    return (yield* store.load(runId)) ?? (yield* Effect.die("the run is gone"))
  })

  /** One driver takes the run and drives it until it rests or dies. */
  const drive = Effect.gen(function* () {
    yield* sql`update coordinators set due_at = now() where run_id = ${runId}`
    const [claimed] = (yield* store.claim("driver", 60, 100)).filter((each) => each.runId === runId)
    if (claimed === undefined) return yield* Effect.die("the run could not be taken")
    const driven = driveCoordinator(claimed, Effect.never).pipe(
      Effect.provide(layerWithFiles(world)),
      Effect.provideService(CoordinatorStore, store),
    )
    const exit = yield* Effect.exit(driven)
    if (Exit.isSuccess(exit)) return
    const crashed = exit.cause.reasons.some((reason) => Cause.isDieReason(reason) && isCrash(reason.defect))
    if (!crashed) return yield* Effect.failCause(exit.cause)
    yield* sql`update runs set lease_until = now() - interval '1 second' where run_id = ${runId}`
  })

  /** The child of a part, as it was last started. */
  const childOf = Effect.fnUntraced(function* (part: number) {
    const subtask = (yield* state).plan?.subtasks[part - 1]
    return (subtask && lastAttempt(subtask)?.childRunId) ?? (yield* Effect.die(`part ${part} has no child`))
  })

  const child = (part: number, command: RunCommand) =>
    Effect.flatMap(childOf(part), (childRunId) => runs.transition(childRunId, command))

  /** Its child asks, and rests until it is answered. */
  const asks = Effect.fnUntraced(function* (part: number, question: string) {
    const childRunId = yield* childOf(part)
    const { requestId } = yield* askedQuestion(childRunId, question)
    yield* sql`
      insert into run_work (run_id, waits_for) values (${childRunId}, ${[requestId]}::text[])
      on conflict (run_id) do update set waits_for = excluded.waits_for`
  })

  const person = (decide: (state: CoordinatorState, stamp: Stamp) => Decided) =>
    store.decide(runId, (seen, stamp) => Effect.fromResult(decide(seen, stamp)))

  /** The log so far. It ends with a last look. */
  const recorded = Effect.gen(function* () {
    yield* store.load(runId, defaultLimits)
    yield* store.now
    return recordingOf(recorder, runId)
  })

  return { world, state, drive, child, asks, person, wait: recorder.wait, recorded }
})

export type Stage = Effect.Success<ReturnType<typeof makeStage>>

/** Other commits every time, as git would make them. */
const freshTrees = () => {
  let count = 0
  return () => {
    count++
    const made = { commit: `commit-${count}`, treeHash: `tree-${count}` }
    return { _tag: "Integrated", ...made, hasChanges: true, settled: [] } as const
  }
}

/** Each part is in a file of its own: `src/1.ts` is of the first. */
const layerWithFiles = (world: FakeWorld): Layer.Layer<CoordinatorWorld> =>
  Layer.effect(
    CoordinatorWorld,
    Effect.map(CoordinatorWorld, (usual) =>
      CoordinatorWorld.of({
        ...usual,
        touchedFiles: ({ plan, children }) =>
          Effect.succeed(
            Object.fromEntries(
              (plan?.subtasks ?? []).flatMap(({ ordinal, attempts }) =>
                attempts
                  .filter(({ childRunId }) => children[childRunId] !== undefined)
                  .map(({ childRunId }) => [childRunId, [`src/${ordinal}.ts`]]),
              ),
            ),
          ),
      }),
    ),
  ).pipe(Layer.provide(layerFakeWorld(world)))
