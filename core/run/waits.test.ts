import { expect, layer } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { EventLog } from "#core/event-log.ts"
import { RunControl } from "#core/run/control.ts"
import { ShellApprovalGranted, ShellApprovalRequired } from "#core/run/events/control.ts"
import { Runs } from "#core/run/runs.ts"
import { RunWaits } from "#core/run/waits.ts"
import { anotherReplica, coreServices } from "#test/support/core-services.ts"

const spec = { projectId: null, submittedBy: "ada", agentName: "Writer", task: "write it" }
const fetch = { toolName: "web_fetch", subject: null, url: "https://a" }
const long = Duration.minutes(5)
/** Over before anybody looks. */
const none = Duration.zero

const create = Effect.map(
  Effect.flatMap(Runs, (runs) => runs.create(spec)),
  (run) => run.runId,
)

const typesOf = (runId: string) =>
  Effect.flatMap(EventLog, (log) => Effect.map(log.read(runId), (events) => events.map((event) => event.type)))

const idOf = (asked: { readonly _tag: string; readonly requestId?: string }): string => asked.requestId ?? asked._tag

layer(coreServices(), { excludeTestServices: true, timeout: "60 seconds" })("a wait", (it) => {
  it.effect("ends with the decision, wherever that was taken", () =>
    Effect.gen(function* () {
      const waits = yield* RunWaits
      const there = (yield* anotherReplica()).control
      const runId = yield* create
      const requestId = idOf(yield* waits.askTool(runId, fetch, long))
      const waiting = yield* Effect.forkChild(waits.toolDecision(runId, requestId), { startImmediately: true })
      yield* there.denyTool(runId, requestId, "ada")
      expect(yield* Fiber.join(waiting)).toBe("denied")
    }),
  )

  it.effect("ends at its expiry, once, however many wait", () =>
    Effect.gen(function* () {
      const waits = yield* RunWaits
      const runId = yield* create
      const requestId = idOf(yield* waits.askTool(runId, fetch, none))
      const decisions = yield* Effect.forEach([1, 2, 3], () => waits.toolDecision(runId, requestId), {
        concurrency: 3,
      })
      expect(decisions).toEqual(["expired", "expired", "expired"])
      expect(yield* typesOf(runId)).toEqual(["run.started", "tool.approval_required", "tool.approval_resolved"])
    }),
  )

  it.effect("for an answer that does not come is told so in the log", () =>
    Effect.gen(function* () {
      const waits = yield* RunWaits
      const runId = yield* create
      const requestId = yield* waits.askQuestion(runId, "Which?", none)
      expect(yield* waits.questionAnswer(runId, requestId)).toBeNull()
      const last = (yield* (yield* EventLog).read(runId)).at(-1)
      expect(JSON.parse(last?.payload ?? "")).toEqual({ requestId, answer: null, timedOut: true })
    }),
  )

  it.effect("ends with the run", () =>
    Effect.gen(function* () {
      const waits = yield* RunWaits
      const runId = yield* create
      const requestId = yield* waits.askQuestion(runId, "Which?", long)
      const waiting = yield* Effect.forkChild(waits.questionAnswer(runId, requestId), { startImmediately: true })
      yield* (yield* Runs).cancel(runId, { reason: "cancelled", by: "ada" })
      expect(yield* Fiber.join(waiting)).toBeNull()
    }),
  )

  it.effect("of a child can be ended through its parent", () =>
    Effect.gen(function* () {
      const waits = yield* RunWaits
      const control = yield* RunControl
      const parent = yield* create
      const child = (yield* (yield* Runs).create({ ...spec, parentRunId: parent, subtaskId: 3 })).runId
      const requestId = yield* waits.askQuestion(child, "Which?", long)
      expect(yield* control.answer(parent, requestId, "this", "ada")).toBe(child)
      expect(yield* waits.questionAnswer(child, requestId)).toBe("this")
      expect(yield* typesOf(parent)).toContain("coordinator.child_question")
    }),
  )

  it.effect("is not needed where the answer is known", () =>
    Effect.gen(function* () {
      const waits = yield* RunWaits
      const control = yield* RunControl
      const runId = yield* create
      const ask = (url: string) => waits.askTool(runId, { ...fetch, url }, long)
      yield* control.denyTool(runId, idOf(yield* ask("https://bad")), "ada")
      yield* control.approveTool(runId, idOf(yield* ask("https://a")), "run", "ada")
      expect((yield* ask("https://b"))._tag).toBe("Allowed")
      expect((yield* ask("https://bad"))._tag).toBe("Denied")
      expect(yield* typesOf(runId)).toContain("tool.auto_approved")
    }),
  )

  it.effect("for a shell command ends in one use of its approval", () =>
    Effect.gen(function* () {
      const waits = yield* RunWaits
      const runId = yield* create
      const command_hash = "sha256:00ff"
      yield* (yield* EventLog).append(runId, [
        ShellApprovalRequired.of({ request_id: "s1", command_length: 2, command_hash, message: "?" }),
        ShellApprovalGranted.of({ command_hash, granted_by: "ada" }),
      ])
      const used = yield* Effect.forEach([1, 2, 3], () => waits.useShellApproval(runId, command_hash), {
        concurrency: 3,
      })
      expect(used.filter(Boolean)).toHaveLength(1)
    }),
  )
})
