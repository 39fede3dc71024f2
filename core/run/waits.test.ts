import { expect, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { EventLog } from "#core/event-log.ts"
import { RunControl } from "#core/run/control.ts"
import { Runs } from "#core/run/runs.ts"
import { makeSessionStore } from "#core/run/session.ts"
import type { Answered, Permission } from "#core/run/waits/standing.ts"
import { RunWaits } from "#core/run/waits.ts"
import { Sql } from "#core/sql.ts"
import { anotherReplica, coreServices } from "#test/support/core-services.ts"

const spec = { projectId: null, submittedBy: "ada", agentName: "Writer", task: "write it" }
const long = Duration.minutes(5)
/** Over before anybody looks. */
const none = Duration.zero

const create = Effect.map(
  Effect.flatMap(Runs, (runs) => runs.create(spec)),
  (run) => run.runId,
)

const typesOf = (runId: string) =>
  Effect.flatMap(EventLog, (log) => Effect.map(log.read(runId), (events) => events.map((event) => event.type)))

/** A look at a call of `web_fetch`: the first one asks. */
const fetch = (runId: string, url = "https://a", { callId = "c1", patience = long } = {}) =>
  Effect.flatMap(RunWaits, (waits) =>
    waits.permitTool({ runId, callId, patience, toolName: "web_fetch", subject: url, url }),
  )

/** A look at the same question of the same call. */
const which = (runId: string, patience = long) =>
  Effect.flatMap(RunWaits, (waits) => waits.answerTo({ runId, callId: "c1", patience, question: "Which?" }))

const idOf = (seen: Permission | Answered): string => (seen._tag === "Waits" ? seen.requestId : seen._tag)

layer(coreServices(), { excludeTestServices: true, timeout: "60 seconds" })("a wait", (it) => {
  it.effect("ends with the decision, wherever that was taken", () =>
    Effect.gen(function* () {
      const there = (yield* anotherReplica()).control
      const runId = yield* create
      yield* there.denyTool(runId, idOf(yield* fetch(runId)), "ada")
      expect(yield* fetch(runId)).toEqual({ _tag: "Refused", why: "denied" })
    }),
  )

  it.effect("ends at its expiry, once, however many look", () =>
    Effect.gen(function* () {
      const runId = yield* create
      yield* fetch(runId, "https://a", { patience: none })
      const seen = yield* Effect.forEach([1, 2, 3], () => fetch(runId), { concurrency: 3 })
      expect(seen).toEqual([1, 2, 3].map(() => ({ _tag: "Refused", why: "expired" })))
      expect(yield* typesOf(runId)).toEqual(["run.started", "tool.approval_required", "tool.approval_resolved"])
    }),
  )

  it.effect("is ended where nobody looks at it any more", () =>
    Effect.gen(function* () {
      const waits = yield* RunWaits
      const runId = yield* create
      const requestId = idOf(yield* which(runId, none))
      const open = idOf(yield* fetch(runId))
      const ended = yield* waits.expireOverdue(runId)
      expect(ended.open.map((request) => request.requestId)).toEqual([open])
      const last = (yield* (yield* EventLog).read(runId)).at(-1)
      expect(JSON.parse(last?.payload ?? "")).toEqual({ requestId, answer: null, timedOut: true })
      expect(yield* which(runId)).toEqual({ _tag: "Answered", answer: null })
    }),
  )

  it.effect("can be read by the database, whatever an agent asks", () =>
    Effect.gen(function* () {
      const runId = yield* create
      const waits = yield* RunWaits
      yield* waits.answerTo({ runId, callId: "c1", patience: long, question: "a\0b\ud800c" })
      const sql = yield* Sql
      const asked = yield* sql<{ question: string }>`
        select payload ->> 'question' as question from events where run_id = ${runId} and type = 'agent.question_asked'`
      expect(asked).toEqual([{ question: "a\ufffdb\ufffdc" }])
      const session = makeSessionStore(sql)
      const text = "a\0b\ud800c"
      yield* session.append(runId, [{ kind: "instruction", text }])
      expect(yield* session.load(runId)).toEqual([{ kind: "instruction", text: "a\ufffdb\ufffdc" }])
    }),
  )

  it.effect("ends with the run", () =>
    Effect.gen(function* () {
      const runId = yield* create
      yield* which(runId)
      yield* (yield* Runs).cancel(runId, { reason: "cancelled", by: "ada" })
      expect((yield* Effect.flip(which(runId)))._tag).toBe("Refusal")
    }),
  )

  it.effect("of a child can be ended through its parent", () =>
    Effect.gen(function* () {
      const control = yield* RunControl
      const parent = yield* create
      const child = (yield* (yield* Runs).create({ ...spec, parentRunId: parent, subtaskId: 3 })).runId
      expect(yield* control.answer(parent, idOf(yield* which(child)), "this", "ada")).toBe(child)
      expect(yield* which(child)).toEqual({ _tag: "Answered", answer: "this" })
      expect(yield* typesOf(parent)).toContain("coordinator.child_question")
    }),
  )

  it.effect("is not needed where the answer is known", () =>
    Effect.gen(function* () {
      const control = yield* RunControl
      const runId = yield* create
      yield* control.denyTool(runId, idOf(yield* fetch(runId, "https://bad", { callId: "c1" })), "ada")
      yield* control.approveTool(runId, idOf(yield* fetch(runId, "https://a", { callId: "c2" })), "run", "ada")
      expect((yield* fetch(runId, "https://b", { callId: "c3" }))._tag).toBe("Allowed")
      expect((yield* fetch(runId, "https://bad", { callId: "c4" }))._tag).toBe("Refused")
      expect(yield* typesOf(runId)).toContain("tool.auto_approved")
    }),
  )
})
