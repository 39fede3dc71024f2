import { expect, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { describe } from "vitest"
import type { NewEvent } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { Hooks, hooksOf } from "#core/hook.ts"
import { cutLine } from "#core/ports/checkouts.ts"
import { Models } from "#core/ports/models.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import { DatabaseUnavailable } from "#core/sql.ts"
import { ModelFailed, type ModelPart, type ModelRequest } from "#core/wire/model.ts"
import { agentContext } from "#policies/agent-context/question.ts"
import { answerByModel, nobodyAnswers } from "#runtime/coordinator/model/autopilot.ts"
import { decomposeByModel, draftSpecByModel } from "#runtime/coordinator/model/contract.ts"
import { critiqueGate, raiGate } from "#runtime/coordinator/model/gates.ts"
import { aPlan, aSpec, aState, begun, planned } from "#runtime/coordinator/test/states.ts"

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2, totalNanoAiu: 0 }
const finish = (reason: "stop" | "content_filter"): ModelPart => ({
  kind: "finish",
  reason,
  usage,
  modelId: "m",
  timeToFirstTokenMs: null,
})

type Said = string | ModelFailed | "filtered"

/** Answers in this order; keeps what it was asked. */
const models = (answers: ReadonlyArray<Said>, asked: Array<ModelRequest> = []) =>
  Layer.merge(Hooks.layerBuiltIn, modelsThat(answers, asked))

const modelsThat = (answers: ReadonlyArray<Said>, asked: Array<ModelRequest> = []) =>
  Layer.succeed(Models, {
    stream: (request) => {
      const said = answers[asked.push(request) - 1] ?? ""
      if (said instanceof ModelFailed) return Stream.fail(said)
      const text: ReadonlyArray<ModelPart> = [{ kind: "text", delta: said }]
      return Stream.fromIterable([...text, finish(said === "filtered" ? "content_filter" : "stop")])
    },
    resolve: () => Effect.die("nobody asks"),
    limits: () => ({ contextTokens: 1_000, outputTokens: 1_000 }),
  })

/** What was told to the log of the run. */
const told: Array<NewEvent> = []
const unused = () => {
  throw new Error("nobody follows")
}
const log = Layer.mock(EventLog, {
  read: () => Effect.succeed([]),
  append: (runId, events) =>
    Effect.sync(() => {
      if (runId.length === 36) told.push(...events)
      return []
    }),
  join: unused,
  remembers: unused,
})
const tell = (events: Array<NewEvent>) => (more: ReadonlyArray<NewEvent>) =>
  Effect.sync(() => {
    const unasked = ["agent.turn.usage", "memory.context_composition"]
    events.push(...more.filter(({ type }) => !unasked.includes(type)))
  })

const failed = (kind: "Refused" | "RateLimited") =>
  new ModelFailed({ kind, message: "no", retryable: kind !== "Refused" })
const drafted = '{"desired_outcome":"x"}'

describe("a draft", () => {
  const draft = (answers: ReadonlyArray<Said>, events: Array<NewEvent> = [], asked: Array<ModelRequest> = []) =>
    draftSpecByModel(aState(), "own-model", tell(events)).pipe(Effect.provide(models(answers, asked)))

  it.effect("is asked for again where the model refused or wrote something else, and tells so", () =>
    Effect.gen(function* () {
      const events: Array<NewEvent> = []
      const asked: Array<ModelRequest> = []
      expect((yield* draft(["Sure.", failed("Refused"), drafted], events, asked)).desiredOutcome).toBe("x")
      expect(events.map(({ payload }) => JSON.parse(payload))).toEqual([
        { attempt: 1, maxAttempts: 3, reason: "invalid_response" },
        { attempt: 2, maxAttempts: 3, reason: "model_refusal" },
      ])
      expect(asked.map(({ modelId, labels }) => [modelId, labels.step])).toEqual([
        ["own-model", 0],
        ["own-model", 1],
        ["own-model", 2],
      ])
    }),
  )

  it.effect("is given up after three answers", () =>
    Effect.gen(function* () {
      expect(yield* Effect.flip(draft(["a", "b", "c", drafted]))).toMatchObject({
        reason: "outcome_spec_invalid_response",
        exhausted: true,
      })
      expect(yield* Effect.flip(draft(["a", "b", "filtered"]))).toMatchObject({ reason: "outcome_spec_model_refusal" })
    }),
  )

  it.effect("is not asked for again where the provider is away: that is for later", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(draft([failed("RateLimited"), drafted]))
      expect(failure).toMatchObject({ reason: "RateLimited", retryable: true })
      expect(failure.exhausted).toBeUndefined()
    }),
  )
})

interface Section {
  readonly id: string
  readonly title: string
  readonly text: string
}

const readAsk = Schema.decodeUnknownSync(agentContext.ask)

describe("what plugins know of the project", () => {
  /** Plugins that answer `agent.context` so. */
  const hooks = (answer: Effect.Effect<ReadonlyArray<Section>, Refusal | DatabaseUnavailable>) =>
    Layer.succeed(
      Hooks,
      hooksOf((_, input) => {
        const { sections, agentName } = readAsk(input)
        expect(agentName).toBe("Coordinator")
        return Effect.map(answer, (more) => ({ sections: [...sections, ...more] }))
      }),
    )
  const drafting = (
    answer: Parameters<typeof hooks>[0],
    { asked = [], events = [] }: { asked?: Array<ModelRequest>; events?: Array<NewEvent> } = {},
  ) =>
    draftSpecByModel(aState(), null, (more) => Effect.sync(() => void events.push(...more))).pipe(
      Effect.provide(Layer.merge(hooks(answer), modelsThat(["no", drafted], asked))),
    )

  it.effect("is in every question, after the rules, and what was composed is told once", () =>
    Effect.gen(function* () {
      const asked: Array<ModelRequest> = []
      const events: Array<NewEvent> = []
      yield* drafting(Effect.succeed([{ id: "house", title: "The house", text: "Tabs." }]), { asked, events })
      expect(asked).toHaveLength(2)
      for (const { system } of asked) {
        expect(system).toMatch(/^You are the coordinator/)
        expect(system).toMatch(/\n\n# The house\nTabs\.$/)
      }
      const composed = events.filter(({ type }) => type === "memory.context_composition")
      expect(composed.map(({ payload }) => JSON.parse(payload))).toEqual([
        {
          included: { decisions: [], memories: [], session: null },
          ...{ omittedMemoryCount: 0, omittedSessionCount: 0, omissionCauses: [] },
        },
      ])
      // who composes a memory tells of it
      const told: Array<NewEvent> = []
      yield* drafting(Effect.succeed([{ id: "memory", title: "Memory", text: "{}" }]), { events: told })
      expect(told.map(({ type }) => type)).not.toContain("memory.context_composition")
    }),
  )

  it.effect("keeps the model from being asked where it cannot be had", () =>
    Effect.gen(function* () {
      const asked: Array<ModelRequest> = []
      const refused = Effect.fail(refuse("plugin_unavailable", { message: "too much" }))
      const failure = yield* Effect.flip(drafting(refused, { asked }))
      expect(failure).toMatchObject({ reason: "context_unavailable", message: "too much", retryable: false })
      const away = Effect.fail(new DatabaseUnavailable({ reason: "connection_lost", message: "away" }))
      expect(yield* Effect.flip(drafting(away, { asked }))).toMatchObject({ reason: "unavailable", retryable: true })
      expect(asked).toEqual([])
    }),
  )
})

it.effect("a decomposition is asked for again until there is a subtask in it", () =>
  Effect.gen(function* () {
    const events: Array<NewEvent> = []
    const parts = yield* decomposeByModel(aState({ spec: aSpec }), null, tell(events)).pipe(
      Effect.provide(models(["[]", '[{"title":"a","role":"writer"}]'])),
    )
    expect(parts.items).toMatchObject([{ title: "a", assignedAgent: "Vera" }])
    expect(events.map(({ type }) => type)).toEqual(["coordinator.decomposition_retrying"])
  }),
)

const whole = planned(aPlan([], { status: "assembling", assembly: { ...aPlan([]).assembly, treeHash: "t", round: 1 } }))
const gate = <A, E>(effect: Effect.Effect<A, E, Models | EventLog | Hooks>, answers: ReadonlyArray<Said>) =>
  effect.pipe(Effect.provide(Layer.mergeAll(models(answers), log)))

describe("the responsible-AI pass", () => {
  const pass = (...answers: ReadonlyArray<Said>) => gate(raiGate(whole, { diff: "+a", files: [] }), answers)

  it.effect("passes, sends back or blocks as the reviewer says", () =>
    Effect.gen(function* () {
      expect(yield* pass("VERDICT: GREEN")).toMatchObject({ _tag: "Passed", verdict: "green" })
      expect(yield* pass("A key.\nTARGET_FILES: a.ts\nVERDICT: REVISE")).toMatchObject({
        _tag: "Rejected",
        targetFiles: ["a.ts"],
      })
      expect(yield* pass("VERDICT: RED")).toMatchObject({ _tag: "Blocked" })
    }),
  )

  it.effect("asks once more where it cannot read the verdict, then blocks and says why", () =>
    Effect.gen(function* () {
      expect(yield* pass("hm", "VERDICT: GREEN")).toMatchObject({ _tag: "Passed" })
      told.length = 0
      expect(yield* pass("hm", "hm")).toEqual({ _tag: "Blocked", reason: "unparseable_after_reask" })
      expect(told.map(({ type }) => type)).toEqual(["run.rai_error", "rai.verdict"])
    }),
  )
})

describe("a change that was cut", () => {
  const diff = `+a${cutLine(2)}`
  const beginning = "The change is so long that only its beginning was read."

  it.effect("is not green, and the log says why", () =>
    Effect.gen(function* () {
      told.length = 0
      const passed = yield* gate(raiGate(whole, { diff, files: [] }), ["Fine.\nVERDICT: GREEN"])
      expect(passed).toMatchObject({ _tag: "Passed", verdict: "yellow", summary: `${beginning} Fine.` })
      expect(told.map(({ payload }) => JSON.parse(payload))).toMatchObject([
        { verdict: "yellow", rationale: `${beginning} Fine.` },
      ])
      expect(yield* gate(raiGate(whole, { diff, files: [] }), ["VERDICT: RED"])).toMatchObject({ _tag: "Blocked" })
    }),
  )

  it.effect("is remarked on by the critique", () =>
    Effect.gen(function* () {
      const critique = (said: Said) => gate(critiqueGate(whole, { diff }), [said])
      expect(yield* critique("Good.\nVERDICT: APPROVE")).toMatchObject({ summary: `${beginning}\n\nGood.` })
      expect(yield* critique("VERDICT: REQUEST_CHANGES")).toMatchObject({ _tag: "Rejected", summary: beginning })
    }),
  )
})

describe("the critique", () => {
  const critique = (...answers: ReadonlyArray<Said>) => gate(critiqueGate(whole, { diff: "+a" }), answers)

  it.effect("passes or sends back, and is asked once more where it cannot be read", () =>
    Effect.gen(function* () {
      expect(yield* critique("VERDICT: APPROVE")).toMatchObject({ _tag: "Passed", verdict: "approve" })
      expect(yield* critique("hm", "VERDICT: REQUEST_CHANGES")).toMatchObject({ _tag: "Rejected" })
      expect(yield* critique("hm", "hm", "VERDICT: REQUEST_CHANGES")).toMatchObject({ verdict: "unreadable" })
    }),
  )
})

describe("an answer on autopilot", () => {
  const asked = { childRunId: "child-1", requestId: "q", question: "Which colour?" }
  const working = planned(aPlan([begun(1, "running")]))
  const answer = (said: Said) =>
    answerByModel(working, asked, tell([])).pipe(Effect.provide(Layer.mergeAll(models([said]), log)))

  it.effect("is what the model says, without what looks like a secret", () =>
    Effect.gen(function* () {
      expect(yield* answer(" Green. ")).toBe("Green.")
      expect(yield* answer(`Use sk-proj-${"a1B2".repeat(10)}.`)).not.toContain("a1B2a1B2")
    }),
  )

  it.effect("is that nobody answers, where the model says nothing or refuses", () =>
    Effect.gen(function* () {
      for (const said of ["  ", "filtered", failed("Refused")] as const) expect(yield* answer(said)).toBe(nobodyAnswers)
      expect(yield* Effect.flip(answer(failed("RateLimited")))).toMatchObject({ retryable: true })
    }),
  )
})
