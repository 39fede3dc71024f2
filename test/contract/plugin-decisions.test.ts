/** What the log of a run keeps of the decisions that plugins make. */
import { expect, layer } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { EventLog } from "#core/event-log.ts"
import { policyEvents } from "#core/hook/events.ts"
import { allowed, HookFault, type HookHandler, handler, refusedBecause } from "#core/hook.ts"
import { Runs } from "#core/run/runs.ts"
import { Sql } from "#core/sql.ts"
import { agentContext } from "#policies/agent-context/question.ts"
import { modelChoose } from "#policies/model-choice/question.ts"
import { previewPublish } from "#policies/preview/question.ts"
import { raiReview } from "#policies/rai/question.ts"
import { candidate, context, guard, model, preview, review } from "#test/contract/plugin.ts"
import { coreServices } from "#test/support/core-services.ts"
import { hostOf } from "#test/support/plugin-host.ts"

layer(coreServices(), { excludeTestServices: true, timeout: "60 seconds" })("decisions of plugins", (it) => {
  const answering = (name: string, hooks: ReadonlyArray<HookHandler>) =>
    candidate(name, {
      hooks: hooks.map(({ question }) => question),
      version: "1.2.3",
      setup: () => Effect.succeed({ hooks }),
    })

  const newRun = Effect.flatMap(Runs, (runs) =>
    runs.create({ projectId: null, submittedBy: "ada", agentName: "Writer", task: "write it" }),
  )

  const policyEventsOf = (runId: string, count: number) =>
    Effect.flatMap(EventLog, (log) =>
      log.follow(runId).pipe(
        Stream.filter(({ type }) => policyEvents.some((known) => known.type === type)),
        Stream.take(count),
        Stream.runCollect,
        Effect.map((events) => [...events].map(({ type, payload }) => ({ type, payload: JSON.parse(payload) }))),
        Effect.timeout("10 seconds"),
      ),
    )

  it.effect("leave a receipt in the run's log before they are given", () =>
    Effect.gen(function* () {
      const { runId } = yield* newRun
      const choose = handler(modelChoose, () => Effect.succeed({ modelId: "cheap", rationale: "budget" }))
      const host = yield* hostOf([answering("cost", [{ ...choose, digest: "sha256:00", abi: 1 }])])
      expect(yield* host.hooks.ask(modelChoose, { ...model, runId }, { runId })).toEqual({
        modelId: "cheap",
        rationale: "budget",
      })
      const [{ type, payload } = { type: "", payload: {} }] = yield* policyEventsOf(runId, 1)
      expect(type).toBe("policy.decision")
      expect(payload).toMatchObject({
        question: "model.choose",
        kind: "decide",
        plugin: "cost",
        version: "1.2.3",
        digest: "sha256:00",
        abi: 1,
        input: { ...model, runId },
        input_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        input_complete: true,
        answer: { modelId: "cheap", rationale: "budget" },
        fuel: null,
        duration_ms: expect.any(Number),
        consulted: [],
      })
    }),
  )

  it.effect("of the service itself leave one too, with all who were asked", () =>
    Effect.gen(function* () {
      const { runId } = yield* newRun
      const host = yield* hostOf([
        answering("a", [guard(() => Effect.succeed(allowed))]),
        answering("b", [guard(() => Effect.undefined)]),
      ])
      yield* host.hooks.permit(previewPublish, preview, { runId })
      const [event] = yield* policyEventsOf(runId, 1)
      expect(event?.payload).toMatchObject({
        plugin: "built-in",
        answer: { decision: "allow" },
        consulted: [
          { plugin: "a", answer: { decision: "allow" } },
          { plugin: "b", answer: null },
        ],
      })
    }),
  )

  it.effect("say where the question could not be kept whole", () =>
    Effect.gen(function* () {
      const { runId } = yield* newRun
      const host = yield* hostOf([])
      const diff = "+password=correct-horse-battery"
      yield* host.hooks.ask(raiReview, { ...review, runId, diff, replies: ["VERDICT: GREEN"] }, { runId })
      const [event] = yield* policyEventsOf(runId, 1)
      expect(event?.payload).toMatchObject({ input_complete: false, input: { diff: "+password=[redacted]" } })
    }),
  )

  it.effect("are made in spite of faults, each of which is an event", () =>
    Effect.gen(function* () {
      const { runId } = yield* newRun
      const fails = handler(previewPublish, () =>
        Effect.fail(new HookFault({ reason: "out_of_fuel", message: "no fuel", fuel: 50 })),
      )
      const host = yield* hostOf([answering("burnt", [fails])])
      const refusal = yield* Effect.flip(host.hooks.permit(previewPublish, preview, { runId }))
      expect(refusal).toMatchObject({
        code: "refused_by_policy",
        extra: { policy: "burnt", question: "preview.publish" },
      })
      const events = yield* policyEventsOf(runId, 2)
      expect(events).toMatchObject([
        {
          type: "policy.fault",
          payload: { plugin: "burnt", reason: "out_of_fuel", fuel: 50, mode: "enforce", question: "preview.publish" },
        },
        {
          type: "policy.decision",
          payload: { plugin: "built-in", answer: { decision: "refuse", policy: "burnt" }, consulted: [] },
        },
      ])
    }),
  )

  it.effect("of shadows are recorded and change nothing", () =>
    Effect.gen(function* () {
      const { runId } = yield* newRun
      const shadow = handler(previewPublish, () => Effect.succeed(refusedBecause("no")), { mode: "shadow" })
      // a shadow closes nothing where it cannot start: it need not tell of its questions in advance
      const host = yield* hostOf([candidate("strict", { setup: () => Effect.succeed({ hooks: [shadow] }) })])
      expect(yield* host.hooks.ask(previewPublish, preview, { runId })).toEqual(allowed)
      const [, event] = yield* policyEventsOf(runId, 2)
      expect(event).toMatchObject({
        type: "policy.shadow",
        payload: { policy: "strict", decision: { decision: "refuse" }, agrees: false },
      })
    }),
  )

  it.effect("are not part of the asker's transaction", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      const inside: Array<boolean> = []
      const looks = handler(modelChoose, () =>
        Effect.map(sql.inTransaction, (is) => {
          inside.push(is)
          return undefined
        }),
      )
      const host = yield* hostOf([answering("looks", [looks])])
      yield* sql.transaction(host.hooks.ask(modelChoose, model))
      expect(inside).toEqual([false])
    }),
  )

  it.effect("cannot change what the next plugin is asked", () =>
    Effect.gen(function* () {
      const rude = handler(agentContext, (ask) =>
        Effect.sync(() => {
          Object.assign(ask, { agentName: "Mallory" })
          return undefined
        }),
      )
      const seen: Array<string> = []
      const polite = handler(agentContext, ({ agentName }) =>
        Effect.sync(() => {
          seen.push(agentName)
          return undefined
        }),
      )
      const host = yield* hostOf([answering("a", [rude]), answering("b", [polite])])
      yield* host.hooks.ask(agentContext, context)
      expect(seen).toEqual(["Writer"])
    }),
  )

  it.effect("are of one version each, and none is lost, while the policy is exchanged under load", () =>
    Effect.gen(function* () {
      let version = 0
      const policy = candidate("policy", {
        setup: () =>
          Effect.sync(() => {
            const text = `${++version}`
            const adds = handler(agentContext, ({ sections }) =>
              Effect.as(Effect.yieldNow, { sections: [...sections, { id: "v", title: "", text }] }),
            )
            return { hooks: [adds, adds, adds] }
          }),
      })
      const host = yield* hostOf([policy])
      const answers: Array<ReadonlyArray<string>> = []
      const client = Effect.gen(function* () {
        while (true) {
          const { sections } = yield* host.hooks.ask(agentContext, context)
          answers.push(sections.map(({ text }) => text))
          yield* Effect.yieldNow
        }
      })
      const clients = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 20 }, () => client),
          { concurrency: 20 },
        ),
      )
      for (let n = 0; n < 10; n++) {
        yield* host.reload("policy")
        while (answers.at(-1)?.[0] !== `${version}`) yield* Effect.yieldNow
      }
      yield* Fiber.interrupt(clients)
      for (const answer of answers) expect(answer).toEqual([answer[0], answer[0], answer[0]])
      expect(new Set(answers.map(([first]) => first)).size).toBeGreaterThanOrEqual(10)
    }),
  )
})
