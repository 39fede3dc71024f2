/** Policies under load over HTTP: endless ones are stopped and told of, and exchanges lose and mix nothing. */
import { expect, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { StoredEvent } from "#core/event.ts"
import { foregroundFuel } from "#runtime/plugin-host/packages/budget.ts"
import { setEnabled } from "#runtime/plugin-host/packages/installed.ts"
import { sha256Of } from "#runtime/plugin-host/wasm/admission.ts"
import { TestDatabase } from "#test/support/database.ts"
import {
  type Answered,
  choosesModel,
  choosing,
  command,
  model,
  policyPlace,
  refusing,
  until,
} from "#test/support/policy-service.ts"

/** What makes a policy run in this thread, or in threads of its own. */
const tiers = [
  { tier: "the service's thread", limits: { wallClock: 2_000 } },
  { tier: "threads of its own", limits: { fuel: foregroundFuel + 1, wallClock: 2_000 } },
] as const

const runId = "6f2c7a52-3a52-4a0c-9c1f-3f3f0c5b1a01"
const clients = 8
/** Requests of the endless test: 200 a second for a second and a half. */
const pings = 300
const pingPause = "5 millis"

const stateOf = (listed: ReadonlyArray<{ readonly name: string; readonly state: string }>, name: string) =>
  listed.find((plugin) => plugin.name === name)?.state

/** Asks over and over, by several clients at once, until it is told to end; gives all the answers. */
const underLoad = Effect.fnUntraced(function* (ask: Effect.Effect<Answered>) {
  let going = true
  const answers: Array<Answered> = []
  const client = Effect.gen(function* () {
    while (going) answers.push(yield* ask)
  })
  const fiber = yield* Effect.forkChild(
    Effect.all(
      Array.from({ length: clients }, () => client),
      { concurrency: clients },
    ),
  )
  return {
    answers,
    end: Effect.andThen(
      Effect.sync(() => {
        going = false
      }),
      Fiber.join(fiber),
    ),
  }
})

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "120 seconds" })("policies under load", (it) => {
  for (const { tier, limits } of tiers) {
    it.effect(`are stopped when they never end, in ${tier}, while every other request is answered`, () =>
      Effect.gen(function* () {
        const { installing, start } = yield* policyPlace
        const { ask, call, log, runs } = yield* start()
        const run = yield* Effect.orDie(
          runs.create({ projectId: null, submittedBy: "ada", agentName: "Writer", task: "write" }),
        )
        const spins = { hooks: { "command.run": "spin" }, limits: { ...limits, wallClock: 200 } }
        yield* installing({ name: "endless", svc: spins })
        yield* until(call("GET /api/plugins"), ({ body }) => stateOf(body, "endless") === "running")
        const load = yield* underLoad(ask("command.run", command(run.runId), run.runId))
        const answered = yield* Effect.forEach(Array.from({ length: pings }), () =>
          Effect.andThen(Effect.sleep(pingPause), Effect.forkChild(call("GET /api/ping"))),
        )
        const statuses = new Set((yield* Effect.forEach(answered, Fiber.join)).map(({ status }) => status))
        // too many faults: it is taken out, and what it guards stays closed
        yield* until(call("GET /api/plugins"), ({ body }) => stateOf(body, "endless") === "quarantined")
        yield* load.end
        expect([...statuses]).toEqual([200])
        // a guard that never answers refuses, and never hangs
        for (const { status, body } of load.answers) {
          expect([status, body.decision, body.policy]).toEqual([200, "refuse", "endless"])
        }
        const events = (yield* Effect.orDie(log.read(run.runId))).filter(({ type }) => type === "policy.fault")
        const reasons = new Set(events.map(({ payload }) => JSON.parse(payload).reason))
        expect(reasons.has("out_of_fuel") || reasons.has("timed_out")).toBe(true)
      }),
    )

    it.effect(`lose no request and mix no versions while they are exchanged, in ${tier}`, () =>
      Effect.gen(function* () {
        const { installing, start } = yield* policyPlace
        const digests = new Map<string, string>()
        const release = (version: string) => {
          const wasm = choosing(version)
          digests.set(version, `sha256:${sha256Of(wasm)}`)
          return installing({ name: "chooser", version, wasm, svc: { ...choosesModel, limits } })
        }
        yield* release("1.0.0")
        const { ask, log, runs } = yield* start()
        const run = yield* Effect.orDie(
          runs.create({ projectId: null, submittedBy: "ada", agentName: "Writer", task: "write" }),
        )
        const load = yield* underLoad(ask("model.choose", model(run.runId), run.runId))
        for (const version of ["1.1.0", "1.2.0", "1.3.0"]) {
          yield* release(version)
          yield* until(
            Effect.sync(() => load.answers.at(-1)?.body.modelId),
            (last) => last === version,
          )
        }
        yield* load.end
        expect([...new Set(load.answers.map(({ status }) => status))]).toEqual([200])
        const events: Array<StoredEvent> = []
        for (let after = 0; ; ) {
          const page = yield* Effect.orDie(log.read(run.runId, { after }))
          const last = page.at(-1)
          if (last === undefined) break
          after = last.sequence
          events.push(...page)
        }
        const payloads = (type: string) =>
          events.flatMap((event) => (event.type === type ? [JSON.parse(event.payload)] : []))
        expect(payloads("policy.fault")).toEqual([])
        const decisions = payloads("policy.decision")
        expect(decisions.length).toBe(load.answers.length)
        expect(new Set(load.answers.map(({ body }) => body.modelId))).toEqual(new Set(digests.keys()))
        for (const { version, digest, answer } of decisions) {
          expect([answer.modelId, digest]).toEqual([version, digests.get(version)])
        }
      }),
    )

    it.effect(`refuse or allow, and nothing between, while they are switched, in ${tier}`, () =>
      Effect.gen(function* () {
        const { home, installing, start } = yield* policyPlace
        yield* installing({ wasm: refusing("closed"), svc: { limits } })
        const { ask, call } = yield* start()
        const load = yield* underLoad(ask("command.run", command(runId)))
        for (let round = 0; round < 2; round++) {
          yield* call("POST /api/plugins/guard/disable")
          yield* until(
            Effect.sync(() => load.answers.at(-1)?.body.decision),
            (last) => last === "allow",
          )
          yield* setEnabled(home, "guard", true)
          yield* until(
            Effect.sync(() => load.answers.at(-1)?.body.reason),
            (last) => last === "closed",
          )
        }
        yield* load.end
        const seen = new Set(load.answers.map(({ status, body }) => `${status} ${body.reason ?? body.decision}`))
        expect(seen).toEqual(new Set(["200 closed", "200 allow"]))
      }),
    )
  }
})
