import { expect, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { EventLog } from "#core/event-log.ts"
import { RunControl } from "#core/run/control.ts"
import { Runs } from "#core/run/runs.ts"
import { RunWaits } from "#core/run/waits.ts"
import { makeWorkStore } from "#core/run/work-store.ts"
import { Sql } from "#core/sql.ts"
import { makeSweep } from "#runtime/turn/gate/heartbeat.ts"
import { coreServices } from "#test/support/core-services.ts"

/** A run whose turn rests until people have decided about `requestIds`. */
const resting = Effect.fnUntraced(function* (patience: Duration.Duration) {
  const works = makeWorkStore(yield* Sql)
  const waits = yield* RunWaits
  const { runId } = yield* (yield* Runs).create({
    projectId: null,
    submittedBy: "ada",
    agentName: "Writer",
    task: "write it",
    driven: true,
  })
  const claimed = (yield* works.claim("w", 60, 100)).find((work) => work.runId === runId)
  const fence = claimed?.fence ?? 0
  const asked = yield* waits.permitTool({
    runId,
    fence,
    callId: "c1",
    patience,
    toolName: "web_fetch",
    subject: "sha256:1",
  })
  const question = yield* waits.answerTo({
    runId,
    fence,
    callId: "c2",
    patience: Duration.hours(1),
    question: "Which?",
  })
  const requestIds = [asked, question].map((waiting) => (waiting._tag === "Waits" ? waiting.requestId : waiting._tag))
  yield* works.rest(runId, fence, (yield* works.find(runId))?.wakes ?? 0, requestIds)
  return { runId, requestId: requestIds[0] ?? "" }
})

const types = (runId: string) =>
  Effect.flatMap(EventLog, (log) => Effect.map(log.read(runId), (events) => events.map(({ type }) => type)))
const dueAt = (runId: string) =>
  Effect.flatMap(Sql, (sql) =>
    Effect.map(
      sql<{ readonly due: boolean }>`select due_at is not null as due from run_work where run_id = ${runId}`,
      ([work]) => work?.due,
    ),
  )

layer(coreServices(), { excludeTestServices: true, timeout: "60 seconds" })("a run that waits for people", (it) => {
  it.effect("says so from time to time, once, however many replicas look", () =>
    Effect.gen(function* () {
      const { runId, requestId } = yield* resting(Duration.hours(1))
      const sweeps = (yield* Effect.all([makeSweep, makeSweep, makeSweep])).map(({ sweep }) => sweep)
      expect((yield* Effect.all(sweeps, { concurrency: 3 })).flat()).not.toContain(runId)
      yield* Effect.all(sweeps)
      const log = yield* EventLog
      const beats = (yield* log.read(runId, { type: "tool.approval_pending" })).map(({ payload }) =>
        JSON.parse(payload),
      )
      // two where the looks happened to be on both sides of a period's end
      expect([1, 2]).toContain(beats.length)
      expect(beats[0]).toEqual({ requestId, displayId: requestId.slice(0, 8), toolName: "web_fetch" })
      expect(yield* dueAt(runId)).toBe(false)
    }),
  )

  it.effect("is woken when a request is over, which is told once", () =>
    Effect.gen(function* () {
      const { runId } = yield* resting(Duration.zero)
      const sweeps = (yield* Effect.all([makeSweep, makeSweep])).map(({ sweep }) => sweep)
      expect((yield* Effect.all(sweeps, { concurrency: 2 })).flat()).toContain(runId)
      expect((yield* types(runId)).filter((type) => type === "tool.approval_resolved")).toHaveLength(1)
      expect(yield* types(runId)).not.toContain("tool.approval_pending")
      expect(yield* dueAt(runId)).toBe(true)
      expect(yield* Effect.flatMap(makeSweep, ({ sweep }) => sweep)).not.toContain(runId)
    }),
  )

  it.effect("is woken where its decision came and the word of it was lost", () =>
    Effect.gen(function* () {
      const { runId, requestId } = yield* resting(Duration.hours(1))
      yield* (yield* RunControl).approveTool(runId, requestId, "once", "ada")
      const sql = yield* Sql
      yield* sql`update run_work set due_at = null where run_id = ${runId}`
      expect(yield* Effect.flatMap(makeSweep, ({ sweep }) => sweep)).toContain(runId)
    }),
  )

  it.effect("is left alone when it has ended", () =>
    Effect.gen(function* () {
      const { runId } = yield* resting(Duration.zero)
      yield* (yield* Runs).cancel(runId, { reason: "cancelled", by: "ada" })
      expect(yield* Effect.flatMap(makeSweep, ({ sweep }) => sweep)).not.toContain(runId)
      expect(yield* types(runId)).not.toContain("tool.approval_resolved")
      expect(yield* makeWorkStore(yield* Sql).find(runId)).toMatchObject({ waitsFor: [] })
    }),
  )

  it.effect("is not due any more when it is given back after its end", () =>
    Effect.gen(function* () {
      const works = makeWorkStore(yield* Sql)
      const { runId, requestId } = yield* resting(Duration.hours(1))
      yield* (yield* RunControl).approveTool(runId, requestId, "once", "ada")
      const claimed = (yield* works.claim("w", 60, 100)).find((work) => work.runId === runId)
      yield* (yield* Runs).cancel(runId, { reason: "cancelled", by: "ada" })
      yield* works.release(runId, claimed?.fence ?? 0, 0)
      expect(yield* dueAt(runId)).toBe(false)
      const [run] = yield* (yield* Sql)<{ owner: string | null }>`
        select lease_owner as owner from runs where run_id = ${runId}`
      expect(run?.owner).toBeNull()
    }),
  )
})
