import { expect, layer } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { EventLog } from "#core/event-log.ts"
import { autoApproves, verdict } from "#core/run/control/verdict.ts"
import { RunControl } from "#core/run/control.ts"
import { QuestionAsked, ToolApprovalRequired } from "#core/run/events/control.ts"
import { safeTools } from "#core/run/new-run.ts"
import { Runs } from "#core/run/runs.ts"
import { anotherReplica, coreServices } from "#test/support/core-services.ts"

const spec = { projectId: null, submittedBy: "ada", agentName: "Writer", task: "write it" }
const policy = { autoApproveTools: true, autopilot: false, source: "direct", safeTools } as const

const create = Effect.map(
  Effect.flatMap(Runs, (runs) => runs.create(spec)),
  (run) => run.runId,
)

const ask = (runId: string, requestId: string, url?: string) =>
  Effect.flatMap(EventLog, (log) =>
    log.append(runId, [
      ToolApprovalRequired.of({ request_id: requestId, tool_name: "web_fetch", ...(url === undefined ? {} : { url }) }),
    ]),
  )

const verdictOf = (runId: string, subject: string | null = null) =>
  Effect.flatMap(RunControl, (control) =>
    Effect.map(control.view(runId), (view) => verdict(view, { toolName: "web_fetch", subject })._tag),
  )

layer(coreServices(), { excludeTestServices: true, timeout: "60 seconds" })("run control", (it) => {
  it.effect("is the same on every replica, from the log alone", () =>
    Effect.gen(function* () {
      const here = yield* RunControl
      const there = (yield* anotherReplica()).control
      const runId = yield* create
      yield* ask(runId, "q1")
      yield* there.approveTool(runId, "q1", "run", "ada")
      expect(yield* here.approveTool(runId, "q1", "once", "ada")).toMatchObject({ state: "approved", applied: false })
      const view = yield* here.view(runId)
      expect(verdict(view, { toolName: "web_fetch", subject: null })._tag).toBe("Allowed")
      yield* (yield* EventLog).append(runId, [QuestionAsked.of({ requestId: "q2", question: "?" })])
      yield* here.answer(runId, "q2", "this", "ada")
      expect(yield* Effect.flip(there.answer(runId, "q2", "that", "eve"))).toMatchObject({
        code: "no_pending_question",
      })
    }),
  )

  it.effect("takes an approval or a denial of two replicas at once, exactly one of the two, 50 times", () =>
    Effect.gen(function* () {
      const here = yield* RunControl
      const there = (yield* anotherReplica()).control
      for (let round = 0; round < 50; round++) {
        const runId = yield* create
        yield* ask(runId, "q1")
        const exits = yield* Effect.all(
          [
            Effect.exit(here.approveTool(runId, "q1", "always", "ada")),
            Effect.exit(there.denyTool(runId, "q1", "eve")),
          ],
          { concurrency: 2 },
        )
        expect(exits.filter(Exit.isSuccess)).toHaveLength(1)
        expect(yield* (yield* EventLog).read(runId)).toHaveLength(3)
      }
    }),
  )

  it.effect("gives a child what its parent has, and takes from it what its parent refused", () =>
    Effect.gen(function* () {
      const control = yield* RunControl
      const parent = yield* create
      const child = (yield* (yield* Runs).create({ ...spec, parentRunId: parent })).runId
      yield* ask(parent, "q1", "https://good")
      yield* control.approveTool(parent, "q1", "tool", "ada")
      yield* ask(parent, "q2", "https://bad")
      yield* control.denyTool(parent, "q2", "ada")
      expect(yield* verdictOf(child, "https://good")).toBe("Allowed")
      expect(yield* verdictOf(child, "https://bad")).toBe("Denied")
    }),
  )

  it.effect("carries what is always allowed, and nothing else, over to a retry", () =>
    Effect.gen(function* () {
      const control = yield* RunControl
      const runs = yield* Runs
      for (const [scope, expected] of [
        ["always", "Allowed"],
        ["run", "Ask"],
      ] as const) {
        const runId = yield* create
        yield* ask(runId, "q1")
        yield* control.approveTool(runId, "q1", scope, "ada")
        yield* runs.cancel(runId, { reason: "cancelled", by: "ada" })
        const { run } = yield* runs.retry(runId, "ada")
        expect(yield* verdictOf(run.runId)).toBe(expected)
      }
    }),
  )

  it.effect("switches a child on only where its parent is on, and off with it", () =>
    Effect.gen(function* () {
      const control = yield* RunControl
      const parent = yield* create
      const child = (yield* (yield* Runs).create({ ...spec, parentRunId: parent })).runId
      const on = (runId: string) => Effect.map(control.view(runId), autoApproves)
      expect(yield* Effect.flip(control.setAutoApprove(child, true, "ada"))).toMatchObject({ code: "conflict" })
      yield* control.setAutoApprove(parent, true, "ada")
      expect(yield* on(child)).toBe(true)
      yield* control.setAutoApprove(child, false, "ada")
      expect(yield* on(child)).toBe(false)
      yield* control.setAutoApprove(child, true, "ada")
      expect(yield* on(child)).toBe(true)
      yield* control.setAutoApprove(parent, false, "ada")
      expect(yield* on(child)).toBe(false)
    }),
  )

  it.effect("starts from the policy that the run was launched with", () =>
    Effect.gen(function* () {
      const run = yield* (yield* Runs).create({ ...spec, policy })
      expect(run.autoApproveTools).toBe(true)
      expect(yield* verdictOf(run.runId)).toBe("Allowed")
    }),
  )
})
