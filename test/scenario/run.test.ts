/** Runs of one agent, from task to merge, over HTTP: a real repository, a real sandbox, a model on the wire. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestDatabase } from "#test/support/database.ts"
import { agentThat, isReviewer, makeOrchestra, type Orchestra, resultsSince } from "#test/support/orchestra.ts"

const greeting = agentThat([
  ["report_intent", { intent: "Write the greeting" }],
  ["write_file", { path: "src/hello.txt", content: "Hello\n" }],
  ["run_command", { command: "cat src/hello.txt && wc -c < src/hello.txt" }],
  ["report_outcome", { achieved: true, reason: "The greeting is there." }],
])

/** One model turn that calls one tool, as events. */
const turnOf = (...tool: ReadonlyArray<string>): ReadonlyArray<string> => [
  "agent.turn.start",
  "agent.system_prompt",
  "agent.runtime_context",
  "agent.message.delta",
  "agent.message",
  "agent.turn.usage",
  ...tool,
  "agent.turn.end",
]

/** The stages that `workflow.step` tells of, in order. */
const stagesOf = (call: Orchestra["call"], runId: string) =>
  Effect.map(call("GET", `/api/runs/${runId}/events?type=workflow.step`), ({ body }) =>
    body.map(({ payload: { step, status, reviewer } }: { payload: Record<string, string | null> }) =>
      reviewer === null || status === "started" ? `${step} ${status}` : `${step} ${status} by ${reviewer}`,
    ),
  )

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("a run", (it) => {
  it.effect("goes from its task by edits and a command to a reviewed merge, and tells of it in order", () =>
    Effect.gen(function* () {
      const { call, repository, start, until } = yield* makeOrchestra(greeting)
      // somebody works in the repository meanwhile, on another branch, and has not committed
      repository.git("switch", "--quiet", "-c", "wip")
      repository.write({ "README.md": "# Being changed\n", "notes.txt": "mine\n" })
      const runId = yield* start("Write a greeting", { agent_name: "Builder" })
      const before = yield* until(runId, "review.requested", "run.failed")
      // the output of one command may come in several pieces
      const told = before.filter((type, at) => type !== "tool.output" || before[at - 1] !== "tool.output")
      expect(told.filter((type) => type !== "policy.decision")).toEqual([
        "run.started",
        "run.approval_policy_selected",
        "run.workflow_graph",
        "sandbox.selected",
        "agent.task",
        "memory.context_composition",
        "workflow.step",
        "agent.tools",
        ...turnOf("tool.call", "agent.intent", "tool.result"),
        ...turnOf("tool.call", "tool.result"),
        ...turnOf("tool.call", "tool.output", "tool.exec_result", "tool.result"),
        ...turnOf("run.outcome"),
        ...turnOf(),
        "workflow.step",
        "workflow.step",
        "rai.verdict",
        "workflow.step",
        "workflow.step",
        "review.requested",
      ])
      const run = yield* call("GET", `/api/runs/${runId}`)
      expect(run.body).toMatchObject({
        status: "awaiting_review",
        step_count: 5,
        outcome_achieved: true,
        model_id: "gpt-test",
        worktree_branch: `svc/${runId}`,
        sandbox: { backend: "lxc-native-linux", is_real_isolation: true, current_binding: { state: "unavailable" } },
      })
      expect(run.body.diff).toContain("+Hello")
      expect((yield* call("GET", `/api/runs/${runId}/files`)).body).toEqual([
        { path: "src/hello.txt", status: "added", scope: "committed", added_lines: 1, removed_lines: 0 },
      ])
      expect((yield* call("GET", `/api/runs/${runId}/files/src/hello.txt/content`)).body).toMatchObject({
        content: "Hello\n",
      })
      expect((yield* call("GET", `/api/runs/${runId}/files/src/hello.txt`)).body.diff).toContain("+Hello")
      expect((yield* call("GET", `/api/runs/${runId}/files?filter=none`)).status).toBe(400)
      expect((yield* call("GET", `/api/runs/${runId}/workspace`)).body).toContainEqual({
        path: "src/hello.txt",
        is_folder: false,
        status: "added",
        added_lines: 1,
        removed_lines: 0,
      })

      const approve = () => call("POST", `/api/runs/${runId}/review`, { approved: true })
      expect(yield* approve()).toMatchObject({ status: 200, body: { run_id: runId } })
      const all = yield* until(runId, "merge.completed", "merge.failed")
      expect(all.slice(before.length).filter((type) => type !== "policy.decision")).toEqual([
        "workflow.step",
        "review.approved",
        "merge.started",
        "workflow.step",
        "workflow.step",
        "merge.completed",
      ])
      expect(yield* stagesOf(call, runId)).toEqual([
        "agent started",
        "agent completed",
        "rai started",
        "rai completed",
        "review started",
        "review completed by ada",
        "merge started",
        "merge completed",
      ])
      const [{ payload: policy }] = (yield* call("GET", `/api/runs/${runId}/events?type=run.approval_policy_selected`))
        .body
      expect(policy).toMatchObject({ autoApproveTools: false, source: "direct", policySnapshotId: expect.any(String) })
      expect((yield* approve()).body).toMatchObject({ status: "merged" })
      expect(repository.git("show", "main:src/hello.txt")).toBe("Hello")
      expect(repository.git("log", "--merges", "--oneline", "main").split("\n")).toHaveLength(1)
      // the working tree is as it was left
      expect(repository.git("branch", "--show-current")).toBe("wip")
      expect(repository.git("status", "--porcelain")).toBe(" M README.md\n?? notes.txt")
      expect(existsSync(join(repository.path, "src"))).toBe(false)
    }),
  )

  it.effect("brings a clean working tree along when its branch is merged", () =>
    Effect.gen(function* () {
      const { call, repository, start, until } = yield* makeOrchestra(greeting)
      const runId = yield* start("Write a greeting")
      yield* until(runId, "review.requested", "run.failed")
      const committed = yield* call("POST", `/api/runs/${runId}/commit`)
      expect(committed).toMatchObject({ status: 200, body: { status: "merged", conflicting_files: null } })
      expect(readFileSync(join(repository.path, "src/hello.txt"), "utf8")).toBe("Hello\n")
      expect((yield* call("POST", `/api/runs/${runId}/commit`)).status).toBe(409)
      const breakdown = yield* call("GET", `/api/runs/${runId}/token-breakdown`)
      expect(breakdown.body).toMatchObject({
        hasAgentData: true,
        breakdown: [{ agentName: "Agent" }, { agentName: "Rai" }],
      })
      const trace = yield* call("GET", `/api/metrics/runs/${runId}/traces`)
      const names = trace.body.spans.map((span: { name: string }) => span.name)
      expect(names).toEqual(expect.arrayContaining(["run", "turn", "write_file", "run_command"]))
      const diagnosis = yield* call("GET", `/api/runs/${runId}/terminal-diagnostic`)
      expect(diagnosis.body).toMatchObject({ is_terminal: true, completeness: "complete" })
      expect((yield* call("GET", `/api/runs/${runId}/graph`)).body).toMatchObject({ variant: "full" })
    }),
  )

  it.effect("is revised in place, with its session, as often as it may be", () =>
    Effect.gen(function* () {
      const { call, repository, start, until, requests } = yield* makeOrchestra(
        (request) => {
          if (isReviewer(request)) return { text: "VERDICT: GREEN" }
          const tellings = request.body.messages.filter(({ role }: { role: string }) => role === "user").length
          if (resultsSince(request) > 0) return { text: `Done, ${tellings}.` }
          const path = `file-${tellings}.txt`
          return { calls: [{ name: "write_file", arguments: { path, content: "x\n" } }], finishReason: "tool_calls" }
        },
        { settings: { Runs: { MaxRevisions: 1 } } },
      )
      const runId = yield* start("Write the first file")
      yield* until(runId, "review.requested", "run.failed")
      const again = () => call("POST", `/api/runs/${runId}/request-changes`, { comment: "One more, please" })
      expect(yield* again()).toMatchObject({ status: 202, body: { status: "in_progress" } })
      const stream = yield* call("GET", `/api/runs/${runId}`)
      expect(["in_progress", "awaiting_review"]).toContain(stream.body.status)
      yield* Effect.repeat(call("GET", `/api/runs/${runId}`), { until: ({ body }) => body.status !== "in_progress" })
      const files = yield* call("GET", `/api/runs/${runId}/files`)
      expect(files.body.map(({ path }: { path: string }) => path)).toEqual(["file-1.txt", "file-2.txt"])
      expect(JSON.stringify(requests.at(-2)?.body.messages)).toContain("One more, please")
      expect(yield* again()).toMatchObject({ status: 409, body: { error: "revision_limit_reached" } })
      const tooMuch = yield* call("POST", `/api/runs/${runId}/review`, { approved: false, feedback: "x".repeat(8_001) })
      expect(tooMuch).toMatchObject({ status: 400, body: { error: "invalid_request" } })
      yield* call("POST", `/api/runs/${runId}/review`, { approved: false, feedback: "Not what I meant" })
      expect((yield* call("GET", `/api/runs/${runId}`)).body.status).toBe("declined")
      const reviews = (yield* stagesOf(call, runId)).filter((stage: string) => stage.startsWith("review"))
      const round = "review started"
      expect(reviews).toEqual([round, "review completed by ada", round, "review failed by ada"])
      const steps = (yield* call("GET", `/api/runs/${runId}/events?type=workflow.step`)).body
      expect(steps.at(-1).payload.message).toBe("Not what I meant")
      expect(repository.git("ls-tree", "--name-only", "main")).toBe("README.md")
    }),
  )

  it.effect("ends without a review where nothing was changed", () =>
    Effect.gen(function* () {
      const { call, start, until } = yield* makeOrchestra(agentThat([["read_file", { path: "README.md" }]]))
      const runId = yield* start("Look around")
      expect(yield* until(runId, "run.completed", "run.failed")).not.toContain("review.requested")
      expect((yield* call("GET", `/api/runs/${runId}`)).body).toMatchObject({
        status: "completed",
        result: "no_changes",
      })
      expect((yield* stagesOf(call, runId)).slice(2)).toEqual(["rai skipped", "review skipped", "merge skipped"])
    }),
  )

  it.effect.each([
    ["finds harm", "This leaks a password.\nVERDICT: RED", "rai.verdict"],
    ["cannot be understood", "I had rather not say.", "run.rai_error"],
  ] as const)("fails where the reviewer %s", ([, words, event]) =>
    Effect.gen(function* () {
      const { call, start, until } = yield* makeOrchestra((request, index) =>
        isReviewer(request) ? { text: words } : greeting(request, index),
      )
      const runId = yield* start("Write a greeting")
      const types = yield* until(runId, "run.failed", "review.requested")
      expect(types).toEqual(expect.arrayContaining([event, "run.failed"]))
      const run = yield* call("GET", `/api/runs/${runId}`)
      expect(run.body).toMatchObject({ status: "failed", result: "content_safety", diff: null })
      const diagnosis = yield* call("GET", `/api/runs/${runId}/terminal-diagnostic`)
      expect(diagnosis.body).toMatchObject({ denial_gate: "rai" })
    }),
  )

  it.effect("is sent back by the reviewer, and repaired", () =>
    Effect.gen(function* () {
      const { call, start, until } = yield* makeOrchestra((request) => {
        const text = JSON.stringify(request.body.messages)
        if (isReviewer(request)) {
          return { text: text.includes("+bad") ? "Not nice.\nVERDICT: REVISE" : "VERDICT: YELLOW" }
        }
        if (resultsSince(request) > 0) return { text: "Done." }
        const content = text.includes("Not nice.") ? "good\n" : "bad\n"
        return { calls: [{ name: "write_file", arguments: { path: "a.txt", content } }], finishReason: "tool_calls" }
      })
      const runId = yield* start("Write something")
      const types = yield* until(runId, "review.requested", "run.failed")
      expect(types.filter((type) => type === "rai.verdict")).toHaveLength(2)
      expect((yield* call("GET", `/api/runs/${runId}/files/a.txt/content`)).body.content).toBe("good\n")
    }),
  )

  it.effect("waits for a person without a worker, and goes on with what was decided", () =>
    Effect.gen(function* () {
      const { call, service, start, until } = yield* makeOrchestra(
        agentThat([
          ["ask_question", { question: "Which colour?" }],
          ["run_command", { command: "rm -rf build && echo removed" }],
          ["write_file", { path: "colour.txt", content: "blue\n" }],
        ]),
      )
      const runId = yield* start("Paint it")
      yield* until(runId, "agent.question_asked", "run.failed")
      const resting = Effect.repeat(
        service.sql<{ due: boolean }>`select due_at is not null as due from run_work where run_id = ${runId}`,
        { until: ([row]) => row?.due === false },
      )
      yield* resting
      const events = (yield* call("GET", `/api/runs/${runId}/events`)).body
      const asked = events.find((event: { type: string }) => event.type === "agent.question_asked")
      const answer = { answer: "blue" }
      const { requestId } = asked.payload
      expect((yield* call("POST", `/api/runs/${runId}/questions/${requestId}/answer`, answer)).status).toBe(200)
      yield* until(runId, "shell.approval_required", "run.failed")
      const shell = (yield* call("GET", `/api/runs/${runId}/events?type=shell.approval_required`)).body[0]
      const approval = { command_hash: shell.payload.command_hash }
      expect((yield* call("POST", `/api/runs/${runId}/shell-approvals`, approval)).status).toBe(200)
      const types = yield* until(runId, "review.requested", "run.failed")
      expect(types).toContain("review.requested")
      const results = (yield* call("GET", `/api/runs/${runId}/events?type=tool.result`)).body
      const texts = results.map((event: { payload: { content: string } }) => event.payload.content).join("\n")
      expect(texts).toContain("blue")
      expect(texts).toContain("removed")
    }),
  )

  it.effect("fails with the provider's own reason, and can be tried again", () =>
    Effect.gen(function* () {
      let broken = true
      const { call, start, until } = yield* makeOrchestra((request, index) =>
        broken
          ? { status: 401, body: { error: { message: "no", code: "invalid_api_key" } } }
          : greeting(request, index),
      )
      const runId = yield* start("Write a greeting")
      yield* until(runId, "run.failed", "review.requested")
      const [failed] = (yield* call("GET", `/api/runs/${runId}/events?type=run.failed`)).body
      expect(failed.payload).toMatchObject({ errorCode: "Authorization", retryable: false })
      expect(JSON.stringify(failed)).not.toContain("sk-of-the-test")
      expect(yield* stagesOf(call, runId)).toEqual(["agent started", "agent failed"])
      broken = false
      const retried = yield* call("POST", `/api/runs/${runId}/retry`)
      expect(retried.status).toBe(201)
      expect(yield* until(retried.body.run_id, "run.failed", "review.requested")).toContain("review.requested")
    }),
  )

  it.effect("stops at once when it is cancelled, with the command that it runs", () =>
    Effect.gen(function* () {
      const { call, start, until } = yield* makeOrchestra(
        agentThat([["run_command", { command: "echo on; sleep 300" }]]),
      )
      const runId = yield* start("Sleep")
      yield* until(runId, "tool.output", "run.failed")
      expect((yield* call("POST", `/api/runs/${runId}/cancel`)).body).toMatchObject({
        cancelled: true,
        status: "failed",
      })
      const types = yield* until(runId, "run.cancelled")
      expect(types.at(-1)).toBe("run.cancelled")
      expect((yield* call("DELETE", `/api/runs/${runId}`)).status).toBe(204)
      expect((yield* call("GET", `/api/runs/${runId}`)).status).toBe(404)
    }),
  )

  it.effect("is refused with every reason at once, and only to who may not start it", () =>
    Effect.gen(function* () {
      const { call, projectId, repository } = yield* makeOrchestra(greeting)
      const wrong = yield* call("POST", "/api/runs", {
        task: " ",
        model_id: "llama",
        originating_branch: "--upload-pack=x",
      })
      expect(wrong.status).toBe(400)
      expect(wrong.body.issues.map(({ path }: { path: string }) => path)).toEqual([
        "body.task",
        "body.originating_branch",
        "body.model_id",
        "body.repository_path",
      ])
      const body = { project_id: projectId, task: "x" }
      expect((yield* call("POST", "/api/runs", body, "ben")).status).toBe(404)
      expect((yield* call("POST", "/api/runs", { repository_path: `${repository.path}/none`, task: "x" })).status).toBe(
        400,
      )
    }),
  )
})
