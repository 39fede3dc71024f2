/**
 * A world for tests: what happens outside is kept in plain values that outlive any driver, and every call can be made
 * to crash, before or after what it does is done.
 */
import { Effect, Layer } from "effect"
import { steer } from "#policies/steering/steer.ts"
import { defaultLimits } from "#runtime/coordinator/limits.ts"
import type { GateAnswer, Integration, MergeAnswer } from "#runtime/coordinator/outcome.ts"
import { plannedItems } from "#runtime/coordinator/test/items.ts"
import { CoordinatorWorld, refusedByPolicy, WorldFailed } from "#runtime/coordinator/world.ts"

export interface FakeWorld {
  /** What was asked, in order. */
  readonly calls: Array<string>
  readonly merged: Set<string>
  /** The call that crashes, from 1; 0: none. */
  crashAt: number
  crashAfter: boolean
  /** Fails the call of this name, once, as something that may go well later. */
  awayOnce: string | undefined
  /** Refuses the call of this name, once, as a policy does. */
  refusedOnce: string | undefined
  gate: (gate: string) => GateAnswer
  integration: () => Integration
  merge: (commit: string) => MergeAnswer
  /** Runs before the answer of the named call is given. */
  before: (call: string) => Effect.Effect<void>
  readonly edges: ReadonlyArray<readonly [item: number, dependsOn: number]>
  readonly items: number
}

export const fakeWorld = (more: Partial<FakeWorld> = {}): FakeWorld => ({
  calls: [],
  merged: new Set(),
  crashAt: 0,
  crashAfter: false,
  awayOnce: undefined,
  refusedOnce: undefined,
  gate: () => ({ _tag: "Passed", verdict: "green", summary: "" }),
  integration: () => ({ _tag: "Integrated", commit: "c1", treeHash: "t1", hasChanges: true, settled: [] }),
  merge: (commit) => ({ _tag: "Merged", commit }),
  before: () => Effect.void,
  edges: [],
  items: 2,
  ...more,
})

/** The defect by which a driver dies. */
export const crash = (call: string) => ({ crashed: call })

export const isCrash = (defect: unknown): boolean =>
  typeof defect === "object" && defect !== null && "crashed" in defect

export const layerFakeWorld = (world: FakeWorld): Layer.Layer<CoordinatorWorld> => {
  const call = <A>(name: string, act: () => A): Effect.Effect<A, WorldFailed> =>
    Effect.gen(function* () {
      const crashes = world.calls.push(name) === world.crashAt
      yield* world.before(name)
      if (crashes && !world.crashAfter) return yield* Effect.die(crash(name))
      if (world.awayOnce === name) {
        world.awayOnce = undefined
        return yield* new WorldFailed({ reason: "away", message: "not now", retryable: true })
      }
      if (world.refusedOnce === name) {
        world.refusedOnce = undefined
        return yield* new WorldFailed({ reason: refusedByPolicy, message: "Too large.", retryable: false })
      }
      const answer = act()
      return crashes ? yield* Effect.die(crash(name)) : answer
    })
  return Layer.succeed(CoordinatorWorld, {
    limits: Effect.succeed(defaultLimits),
    draftSpec: () =>
      call("draft", () => ({ desiredOutcome: "done", scope: "all", assumptions: "", clarifyingQuestions: null })),
    decompose: () =>
      call("decompose", () => ({
        workflowId: null,
        gates: ["rai", "build-test"],
        parts: { items: plannedItems(world.items, world.edges), adjustments: [] },
      })),
    prepareChild: ({ subtask, state }) =>
      call("prepare", () => ({
        projectId: null,
        submittedBy: state.run.submittedBy,
        agentName: subtask.assignedAgent,
        task: [subtask.title, ...subtask.feedback].join("\n"),
      })),
    touchedFiles: ({ children }) =>
      call("files", () => Object.fromEntries(Object.keys(children).map((id) => [id, ["src/a.ts"]]))),
    decide: (ask) => call("decide", () => steer(ask)),
    answerQuestion: (_, { question }) => call("answer", () => `To "${question}": yes.`),
    integrate: () => call("integrate", world.integration),
    runGate: (_, { gate }) => call(gate, () => world.gate(gate)),
    diff: () => call("diff", () => "+a"),
    merge: (_, { commit }) =>
      call("merge", () => {
        const answer = world.merge(commit)
        if (answer._tag === "Merged") world.merged.add(commit)
        return answer
      }),
    scribe: () => call("scribe", () => null).pipe(Effect.orDie),
  })
}
