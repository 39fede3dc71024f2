/** The routes of a run that only change its state: shapes, statuses, and what a second call answers. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { NewEvent } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { controlRoutes } from "#core/run/control-routes.ts"
import {
  ChildApprovalRequired,
  QuestionAsked,
  ShellApprovalRequired,
  ShellApprovalUsed,
  ToolApprovalRequired,
} from "#core/run/events/control.ts"
import { runRoutes } from "#core/run/routes.ts"
import { Runs } from "#core/run/runs.ts"
import { retryRoutes } from "#runtime/runs/routes/retry.ts"
import { reviewRoutes } from "#runtime/runs/routes/review.ts"
import { callRoute } from "#test/support/call-route.ts"
import { coreServices } from "#test/support/core-services.ts"

const spec = { projectId: null, submittedBy: "ada", agentName: "Writer", task: "write it" }

const routes = Effect.flatMap(Effect.all([runRoutes, retryRoutes, reviewRoutes, controlRoutes]), (all) =>
  callRoute(all.flat()),
)

const create = Effect.map(
  Effect.flatMap(Runs, (runs) => runs.create(spec)),
  (run) => run.runId,
)

const reviewed = Effect.gen(function* () {
  const runId = yield* create
  const command = { _tag: "RequestReview", treeHash: "t1", diff: "+secret", requestId: "q1" } as const
  yield* (yield* Runs).transition(runId, command)
  return runId
})

const failed = Effect.gen(function* () {
  const runId = yield* create
  yield* (yield* Runs).cancel(runId, { reason: "cancelled", by: "ada" })
  return runId
})

const append = (runId: string, ...events: ReadonlyArray<NewEvent>) =>
  Effect.flatMap(EventLog, (log) => log.append(runId, events))

const lastType = (runId: string) =>
  Effect.flatMap(EventLog, (log) => Effect.map(log.read(runId), (events) => events.at(-1)?.type))

const askTool = (request_id: string, more: { expires_at?: string } = {}) =>
  ToolApprovalRequired.of({ request_id, tool_name: "web_fetch", url: "https://a", ...more })

layer(coreServices({ Runs: { MaxRevisions: 1 } }), { excludeTestServices: true, timeout: "60 seconds" })(
  "runs over HTTP",
  (it) => {
    it.effect("GET a run: every field, nulls included", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runId = yield* create
        const { status, body } = yield* call("GET", `/api/runs/${runId}`)
        expect(status).toBe(200)
        expect(body).toMatchObject({
          run_id: runId,
          workflow_run_id: runId,
          status: "pending",
          model_source: "hosted",
          ended_at: null,
          result: null,
          diff: null,
          step_count: 0,
          merge_conflicts: null,
          sandbox: null,
          subtask_id: null,
          coordinator_status: null,
          coordinator_steerable: false,
          auto_approve_tools: false,
          autopilot: false,
        })
        expect(body.started_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      }),
    )

    it.effect("shows the diff while the run is reviewed and never where it failed", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runId = yield* reviewed
        expect((yield* call("GET", `/api/runs/${runId}`)).body.diff).toBe("+secret")
        yield* call("POST", `/api/runs/${runId}/cancel`)
        expect((yield* call("GET", `/api/runs/${runId}`)).body).toMatchObject({ status: "failed", diff: null })
      }),
    )

    it.effect("archive, twice: the same time", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const path = `/api/runs/${yield* create}/archive`
        const first = yield* call("POST", path)
        expect(first).toMatchObject({ status: 200, body: { archived_at: expect.any(String) } })
        expect((yield* call("POST", path)).body).toEqual(first.body)
      }),
    )

    it.effect("cancel, twice: cancelled, then already terminal", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runId = yield* create
        expect(yield* call("POST", `/api/runs/${runId}/cancel`)).toEqual({
          status: 200,
          body: { run_id: runId, status: "failed", cancelled: true, already_terminal: false },
        })
        expect(yield* call("POST", `/api/runs/${runId}/cancel`)).toEqual({
          status: 200,
          body: { run_id: runId, status: "failed", cancelled: false, already_terminal: true },
        })
      }),
    )

    it.effect("delete, twice: gone, then not found", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runId = yield* create
        expect((yield* call("DELETE", `/api/runs/${runId}`)).status).toBe(204)
        expect(yield* call("DELETE", `/api/runs/${runId}`)).toMatchObject({
          status: 404,
          body: { error: "run_not_found" },
        })
      }),
    )

    it.effect("approve, twice: merging both times; a decline then is 409 with the status", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runId = yield* reviewed
        const answer = { status: 200, body: { run_id: runId, status: "merging", merge_result: null } }
        expect(yield* call("POST", `/api/runs/${runId}/review`, { body: { approved: true } })).toEqual(answer)
        expect(yield* call("POST", `/api/runs/${runId}/review`, { body: { approved: true } })).toEqual(answer)
        expect(yield* call("POST", `/api/runs/${runId}/review`, { body: { approved: false } })).toMatchObject({
          status: 409,
          body: { error: "conflict", status: "merging" },
        })
      }),
    )

    it.effect("approve after a conflict: the outcome of the merge", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runs = yield* Runs
        const runId = yield* reviewed
        yield* runs.transition(runId, { _tag: "Approve", by: "ada" })
        yield* runs.transition(runId, { _tag: "FailMerge", reason: "overlap", conflicts: ["a"] })
        expect(yield* call("POST", `/api/runs/${runId}/review`, { body: { approved: true } })).toEqual({
          status: 200,
          body: { run_id: runId, status: "merge_failed", merge_result: "conflict:overlap" },
        })
        expect((yield* call("GET", `/api/runs/${runId}`)).body.merge_conflicts).toBe('["a"]')
      }),
    )

    it.effect("decline, twice: declined both times; an approval then is 409", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runId = yield* reviewed
        const first = yield* call("POST", `/api/runs/${runId}/review`, { body: { approved: false } })
        expect(first).toMatchObject({ status: 200, body: { status: "declined" } })
        expect(yield* call("POST", `/api/runs/${runId}/review`, { body: { approved: false } })).toEqual(first)
        expect(yield* call("POST", `/api/runs/${runId}/review`, { body: { approved: true } })).toMatchObject({
          status: 409,
          body: { error: "run_not_active", status: "declined" },
        })
      }),
    )

    it.effect("a review needs a decision, and one that makes sense", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const path = `/api/runs/${yield* reviewed}/review`
        for (const body of [{}, { approved: "yes" }, { approved: true, request_changes: true, feedback: "x" }]) {
          expect((yield* call("POST", path, { body })).status).toBe(400)
        }
        expect((yield* call("POST", path, { body: { approved: false, request_changes: true } })).status).toBe(400)
      }),
    )

    it.effect("request changes: 202, then 409 as it is not under review; past the limit 409", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runs = yield* Runs
        const runId = yield* reviewed
        const path = `/api/runs/${runId}/request-changes`
        const body = { comment: "again\u001b[31m please" }
        expect(yield* call("POST", path, { body })).toEqual({
          status: 202,
          body: { run_id: runId, status: "in_progress" },
        })
        expect(yield* call("POST", path, { body })).toMatchObject({ status: 409, body: { status: "in_progress" } })
        const [asked] = yield* (yield* EventLog).read(runId, { type: "review.changes_requested" })
        expect(JSON.parse(asked?.payload ?? "")).toEqual({ comment: "again[31m please", reviewer: "ada" })
        yield* runs.transition(runId, { _tag: "RequestReview", treeHash: "t2", diff: "", requestId: "q2" })
        expect(yield* call("POST", path, { body })).toMatchObject({
          status: 409,
          body: { error: "revision_limit_reached" },
        })
        for (const comment of [undefined, " ", "x".repeat(8_001)]) {
          expect((yield* call("POST", path, { body: { comment } })).status).toBe(400)
        }
      }),
    )

    it.effect("retry, twice: 201, then the same run with 200; an active run or a child cannot be", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const source = yield* failed
        const first = yield* call("POST", `/api/runs/${source}/retry`)
        expect(first).toMatchObject({ status: 201, body: { retried_from: source, status: "in_progress" } })
        expect(yield* call("POST", `/api/runs/${source}/retry`)).toEqual({ ...first, status: 200 })
        expect(yield* call("POST", `/api/runs/${first.body.run_id}/retry`)).toMatchObject({
          status: 409,
          body: { error: "run_not_retryable", status: "pending" },
        })
      }),
    )

    it.effect("retry: three in a chain, the fourth is 409", () =>
      Effect.gen(function* () {
        const call = yield* routes
        let runId = yield* failed
        for (let n = 0; n < 3; n++) {
          runId = (yield* call("POST", `/api/runs/${runId}/retry`)).body.run_id
          yield* call("POST", `/api/runs/${runId}/cancel`)
        }
        expect(yield* call("POST", `/api/runs/${runId}/retry`)).toMatchObject({
          status: 409,
          body: { error: "retry_limit_reached" },
        })
      }),
    )

    it.effect("history: 409 before the end, the events after", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runId = yield* create
        expect(yield* call("GET", `/api/runs/${runId}/history`)).toMatchObject({
          status: 409,
          body: { message: "History is only available for terminal runs." },
        })
        yield* call("POST", `/api/runs/${runId}/cancel`)
        const { body } = yield* call("GET", `/api/runs/${runId}/history`)
        expect(body.map((item: { type: string }) => item.type)).toEqual(["run.started", "run.cancelled"])
      }),
    )

    it.effect("tool approval, twice: approved, then approved as it was; a denial then is 409", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runId = yield* create
        yield* append(runId, askTool("q1"))
        const approve = call("POST", `/api/runs/${runId}/tool-approvals`, {
          body: { request_id: "q1", scope: "weird" },
        })
        expect(yield* approve).toEqual({ status: 200, body: { run_id: runId, request_id: "q1", approved: true } })
        expect(yield* lastType(runId)).toBe("tool.approval_granted")
        expect(yield* approve).toEqual({
          status: 200,
          body: {
            run_id: runId,
            request_id: "q1",
            approved: true,
            resolved: true,
            expired: false,
            state: "approved",
            applied: false,
          },
        })
        expect(yield* call("POST", `/api/runs/${runId}/tool-denials`, { body: { request_id: "q1" } })).toMatchObject({
          status: 409,
          body: { error: "no_pending_approval", state: "approved" },
        })
      }),
    )

    it.effect("tool approval: missing id 400, unknown id 404, expired says so, ended run 409", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runId = yield* create
        yield* append(runId, askTool("old", { expires_at: "2020-01-01T00:00:00.000Z" }), askTool("q1"))
        const path = `/api/runs/${runId}/tool-approvals`
        for (const body of [undefined, {}, { request_id: "" }, { request_id: null }]) {
          const { status, body: answer } = yield* call("POST", path, body === undefined ? {} : { body })
          expect([status, answer.message]).toEqual([400, "request_id is required."])
        }
        expect(yield* call("POST", path, { body: { request_id: "nope" } })).toMatchObject({
          status: 404,
          body: { state: "unknown" },
        })
        expect(yield* call("POST", path, { body: { request_id: "old" } })).toMatchObject({
          status: 200,
          body: { approved: false, resolved: true, expired: true, state: "expired", applied: false },
        })
        yield* call("POST", `/api/runs/${runId}/cancel`)
        expect(yield* call("POST", path, { body: { request_id: "q1" } })).toMatchObject({
          status: 409,
          body: { error: "run_not_active", message: "Run is not active." },
        })
      }),
    )

    it.effect("a coordinator's id leads to the child that waits", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const parent = yield* create
        const child = (yield* (yield* Runs).create({ ...spec, parentRunId: parent, subtaskId: 1 })).runId
        const about = { childRunId: child, subtaskId: 1, requestId: "q1", toolName: "web_fetch" }
        yield* append(child, askTool("q1"))
        yield* append(parent, ChildApprovalRequired.of(about))
        expect(yield* call("POST", `/api/runs/${parent}/tool-denials`, { body: { request_id: "q1" } })).toEqual({
          status: 200,
          body: { run_id: child, request_id: "q1", denied: true },
        })
        expect(yield* lastType(child)).toBe("tool.approval_denied")

        const command_hash = "sha256:00aa"
        const shell = ShellApprovalRequired.of({ request_id: "s1", command_length: 2, command_hash, message: "?" })
        yield* append(child, shell)
        yield* append(parent, ChildApprovalRequired.of({ ...about, requestId: "s1", toolName: "run_command" }))
        const approve = () => call("POST", `/api/runs/${parent}/shell-approvals`, { body: { command_hash } })
        expect(yield* approve()).toEqual({ status: 200, body: { run_id: child, command_hash, approved: true } })
        // also where the agent has run it meanwhile
        yield* append(child, ShellApprovalUsed.of({ command_hash }))
        expect(yield* approve()).toMatchObject({ status: 200, body: { run_id: child, approved: true, applied: false } })
      }),
    )

    it.effect("shell approval, twice; with and without the prefix; none pending 409; none given 400", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runId = yield* create
        const command_hash = "sha256:00ff"
        const asked = ShellApprovalRequired.of({ request_id: "s1", command_length: 2, command_hash, message: "?" })
        const path = `/api/runs/${runId}/shell-approvals`
        expect((yield* call("POST", path, { body: { command_hash } })).status).toBe(409)
        expect((yield* call("POST", path, { body: {} })).body.message).toBe("command_hash is required.")
        yield* append(runId, asked)
        expect(yield* call("POST", path, { body: { command_hash: "00ff" } })).toEqual({
          status: 200,
          body: { run_id: runId, command_hash: "00ff", approved: true },
        })
        expect(yield* call("POST", path, { body: { command_hash } })).toMatchObject({
          status: 200,
          body: { command_hash, approved: true, applied: false },
        })
        expect((yield* call("POST", `/api/runs/${runId}/shell-denials`, { body: { command_hash } })).status).toBe(409)
      }),
    )

    it.effect("an answer, twice; another answer 409; an unknown question 409; no text 400", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runId = yield* create
        yield* append(runId, QuestionAsked.of({ requestId: "q1", question: "Which?" }))
        const path = `/api/runs/${runId}/questions/q1/answer`
        const answered = { status: 200, body: { run_id: runId, request_id: "q1", answered: true } }
        expect((yield* call("POST", path, { body: {} })).status).toBe(400)
        expect(yield* call("POST", path, { body: { answer: "this" } })).toEqual(answered)
        expect(yield* call("POST", path, { body: { answer: "this" } })).toEqual(answered)
        expect((yield* call("POST", path, { body: { answer: "that" } })).status).toBe(409)
        expect((yield* call("POST", `/api/runs/${runId}/questions/q9/answer`, { body: { answer: "x" } })).status).toBe(
          409,
        )
      }),
    )

    it.effect("auto-approve and autopilot, twice: the switch as it is, in the run and in its log, once", () =>
      Effect.gen(function* () {
        const call = yield* routes
        const runId = yield* create
        for (const _ of [1, 2]) {
          expect(yield* call("POST", `/api/runs/${runId}/auto-approve`, { body: { enabled: true } })).toEqual({
            status: 200,
            body: { run_id: runId, auto_approve_tools: true },
          })
          expect(yield* call("POST", `/api/runs/${runId}/autopilot`, { body: { enabled: true } })).toEqual({
            status: 200,
            body: { run_id: runId, autopilot: true },
          })
        }
        expect((yield* call("GET", `/api/runs/${runId}`)).body).toMatchObject({
          auto_approve_tools: true,
          autopilot: true,
        })
        const events = yield* (yield* EventLog).read(runId)
        expect(events.map((event) => event.type)).toEqual([
          "run.started",
          "run.auto_approve_changed",
          "run.autopilot_changed",
        ])
        expect((yield* call("POST", `/api/runs/${runId}/autopilot`, { body: {} })).status).toBe(400)
      }),
    )
  },
)
