import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { defineEvent } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { PolicyDecision } from "#core/hook/events.ts"
import { type Decision, recordedInLog } from "#runtime/plugin-host/kit/recorded.ts"
import { testDatabase } from "#test/support/database.ts"

const Started = defineEvent("run.started", Schema.Struct({}))

const decision = (callId: string): Decision => ({
  question: "tool.call",
  kind: "guard",
  plugin: "built-in",
  version: "0.1.0",
  digest: null,
  abi: null,
  input: { callId },
  input_hash: "sha256:0",
  input_complete: true,
  answer: { decision: "allow" },
  fuel: null,
  duration_ms: 0.1,
  consulted: [],
})

/** A run with so many decisions, one other event before each. */
const openRun = Effect.fnUntraced(function* (decisions: number) {
  const log = yield* EventLog
  const runId = crypto.randomUUID()
  yield* log.open(runId, [Started.of({})])
  for (let at = 0; at < decisions; at += 500) {
    const batch = Array.from({ length: Math.min(500, decisions - at) }, (_, offset) => decision(`call-${at + offset}`))
    yield* log.append(
      runId,
      batch.flatMap((each) => [Started.of({}), PolicyDecision.of(each)]),
    )
  }
  return runId
})

layer(Layer.provideMerge(EventLog.layer, testDatabase), { excludeTestServices: true, timeout: "30 seconds" })(
  "decisions in the log",
  (it) => {
    it.effect("are read whole, more of them than a page has", () =>
      Effect.gen(function* () {
        const runId = yield* openRun(1_100)
        const found = yield* recordedInLog({ run: runId })
        expect(found.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 1_100 }, (_, at) => 2 * at + 3))
      }),
    )

    it.effect("come run by run, in one order, and no earlier than asked for", () =>
      Effect.gen(function* () {
        const runs: ReadonlyArray<string> = [yield* openRun(2), yield* openRun(1)].toSorted()
        const all = yield* recordedInLog({})
        const mine = all.filter(({ runId }) => runs.includes(runId)).map(({ runId }) => runId)
        expect(mine).toEqual(mine.toSorted())
        expect(mine).toHaveLength(3)
        expect(yield* recordedInLog({ since: new Date(Date.now() + 3_600_000).toISOString() })).toEqual([])
      }),
    )
  },
)
