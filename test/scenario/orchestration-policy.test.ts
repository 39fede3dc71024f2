/** What a project and its people say beforehand: the review policy, autopilot, and what is kept after the merge. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { install, uninstall } from "#runtime/plugin-host/packages/installed.ts"
import { pluginsFolder } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { version } from "#runtime/version.ts"
import { fails } from "#test/fakes/openai-server.ts"
import { orchestrate, play, type Script, write } from "#test/scenario/orchestration-team.ts"
import { TestDatabase } from "#test/support/database.ts"
import { type Answered, makeOrchestra, type Playing, resultsSince } from "#test/support/orchestra.ts"
import { temporaryFolder, writePackage } from "#test/support/policy-package.ts"
import { refusing, until } from "#test/support/policy-service.ts"
import { testRepository } from "#test/support/repository.ts"

const one: Script = { parts: [{ title: "Write one", does: () => [write("one.txt", "one\n")] }] }

/** A part of the house that answers for itself: known by words of its instructions. */
type House = Readonly<Record<string, Playing>>

const withHouse =
  (script: Script, house: House): Playing =>
  (request, index) => {
    const system = String(request.body.messages?.[0]?.content ?? "")
    const found = Object.entries(house).find(([words]) => system.includes(words))
    return (found?.[1] ?? play(script))(request, index)
  }

const begin = Effect.fnUntraced(function* (
  script: Script,
  {
    house = {},
    start = {},
    ...options
  }: NonNullable<Parameters<typeof makeOrchestra>[1]> & {
    readonly house?: House
    readonly start?: object
  } = {},
) {
  const world = yield* makeOrchestra(withHouse(script, house), options)
  const path = `/api/projects/${world.projectId}/orchestrations`
  const started = yield* world.call("POST", path, { goal: "Write it all", ...start })
  expect(started.status).toBe(201)
  return { ...orchestrate(world, started.body.runId), requests: world.requests }
})

const critic = "the critic of a software team"
const scribe = "the scribe of a software team"
const answering = "in place of the person who asked"
const policy =
  "name: default\nsteps:\n  - { kind: rai }\n  - { kind: rubberduck, label: Critique }\n  - { kind: human-review }\n"
const withPolicy = { files: { "README.md": "# One\n", ".svc/review-policies/default.yaml": policy } }

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "90 seconds" })("a review policy", (it) => {
  it.effect(
    "has the critic asked after the tests and before a person, and what it finds is mended",
    () =>
      Effect.gen(function* () {
        const script: Script = {
          parts: [
            {
              title: "Write one",
              does: ({ text }) => [write("one.txt", text.includes("Too short") ? "long enough\n" : "one\n")],
            },
          ],
        }
        const house: House = {
          [critic]: ({ body }) => ({
            text: JSON.stringify(body.messages).includes("long enough")
              ? "Good.\nVERDICT: APPROVE"
              : "Too short.\nTARGET_FILES: one.txt\nVERDICT: REQUEST_CHANGES",
          }),
        }
        const { nth, events, merge, repository, on } = yield* begin(script, { ...withPolicy, house })
        yield* nth("review.requested")
        const asked = (yield* events("coordinator.assembly_review_requested")).map(({ payload }) => payload.gateKind)
        expect(asked).toEqual(["build-test", "rubberduck", "build-test", "rubberduck", "human-review"])
        const [received] = yield* events("coordinator.steering_received")
        expect(received?.payload).toMatchObject({ source: "rubberduck", targetFiles: ["one.txt"] })
        const { body: graph } = yield* on("GET", "/graph")
        expect(graph.nodes.map(({ id }: { id: string }) => id)).toContain("planned:assembly-rubberduck")
        yield* merge
        expect(repository.git("show", "main:one.txt")).toBe("long enough")
      }),
    { timeout: 60_000 },
  )

  it.effect("is the one that the project's blueprint names; one that is not there ends the run", () =>
    Effect.gen(function* () {
      const files = { "README.md": "# One\n", ".svc/review-policies/strict.yaml": policy.replace("default", "strict") }
      const world = yield* makeOrchestra(play(one))
      const begun = Effect.fnUntraced(function* (review_policy: string) {
        const { path } = yield* testRepository(files)
        const project = { name: review_policy, origin: "blank", working_directory: path, blueprint: { review_policy } }
        const created = yield* world.call("POST", "/api/projects", project)
        const start = `/api/projects/${created.body.project_id}/orchestrations`
        const { body } = yield* world.call("POST", start, { goal: "Write it all" })
        return orchestrate(world, body.runId)
      })
      const strict = yield* begun("strict")
      yield* strict.nth("coordinator.work_plan")
      const { body: graph } = yield* strict.on("GET", "/graph")
      expect(graph.nodes.map(({ id }: { id: string }) => id)).toContain("planned:assembly-rubberduck")
      const lost = yield* begun("lost")
      yield* lost.until(lost.runId, "run.failed")
      const [failed] = yield* lost.events("run.failed")
      expect(failed?.payload.message).toContain("There is no .svc/review-policies/lost.yaml.")
    }),
  )

  it.effect("that cannot be read ends the run before anything is planned, and says what is wrong", () =>
    Effect.gen(function* () {
      const files = {
        "README.md": "# One\n",
        ".svc/review-policies/default.yaml": "name: default\nsteps: [{ kind: luck }]\n",
      }
      const { until, runId, events } = yield* begin(one, { files })
      yield* until(runId, "run.failed")
      const [failed] = yield* events("run.failed")
      expect(failed?.payload).toMatchObject({ errorCode: "policy_hook_failed", retryable: false })
      expect(failed?.payload.message).toContain(".svc/review-policies/default.yaml")
      expect(yield* events("coordinator.work_plan")).toEqual([])
    }),
  )
})

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "90 seconds" })("a policy for assemblies", (it) => {
  it.effect(
    "keeps what was assembled from people, and lets it go on once it is gone",
    () =>
      Effect.gen(function* () {
        const settings = { Auth: { PlatformAdministrators: ["ada"] } }
        const world = yield* makeOrchestra(play(one), { settings })
        const home = { plugins: pluginsFolder(world.settings.Data?.Directory ?? ""), world: { version } }
        const guard = { wasm: refusing("Too large."), svc: { hooks: { "assembly.gate": "answer" } } }
        yield* install(home, writePackage(yield* temporaryFolder, "guard", guard), { allowUnsigned: true })
        const reports = world.call("GET", "/api/plugins")
        const running = ({ body }: Answered) =>
          body.some(({ name, state }: { name: string; state: string }) => name === "guard" && state === "running")
        yield* until(reports, running)
        const path = `/api/projects/${world.projectId}/orchestrations`
        const { body } = yield* world.call("POST", path, { goal: "Write it all" })
        const { nth, on, plan, events, review } = orchestrate(world, body.runId)
        const blocked = yield* nth("coordinator.assembly_blocked")
        expect(blocked.payload).toMatchObject({
          reason: "refused_by_policy",
          detail: expect.stringContaining("Too large."),
        })
        expect(yield* plan).toMatchObject({ status: "assembly_blocked", assemblyStage: "review" })
        expect((yield* review({ approved: true })).status).toBe(409)
        yield* uninstall(home, "guard")
        yield* until(reports, (seen) => !running(seen))
        expect(yield* on("POST", "/retry")).toMatchObject({ status: 200, body: { resumed: true } })
        yield* nth("review.requested")
        expect(yield* events("coordinator.assembly_started")).toHaveLength(1)
      }),
    { timeout: 60_000 },
  )
})

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "90 seconds" })("the scribe", (it) => {
  it.effect(
    "keeps a proposal for people to decide on, in the name of the run, and tells what it did in a log of its own",
    () =>
      Effect.gen(function* () {
        const entry = {
          slug: "plain-files",
          type: "architectural",
          title: "Plain files",
          content: "We write plain files.",
        }
        const house: House = {
          [scribe]: (request) =>
            resultsSince(request) === 0
              ? { text: "", calls: [{ name: "submit_inbox_entry", arguments: entry }], finishReason: "tool_calls" }
              : { text: "Kept one decision." },
        }
        const { nth, merge, call, projectId, requests, runId, events } = yield* begin(one, { house })
        yield* nth("review.requested")
        yield* merge
        const { body: inbox } = yield* call("GET", `/api/projects/${projectId}/decisions/inbox`)
        expect(inbox).toMatchObject([{ agentName: "Scribe", slug: "plain-files", status: "pending" }])
        const { body: log } = yield* call("GET", `/api/runs/${runId}-scribe/events`)
        const told = log.map(({ type }: { type: string }) => type)
        expect(told).toEqual(["agent.turn.usage", "tool.call", "tool.result", "agent.message", "agent.turn.usage"])
        expect(yield* events("run.scribe_failed")).toEqual([])
        const asked = requests.filter(({ body }) => String(body.messages?.[0]?.content).includes(scribe))
        const offered = asked[0]?.body.tools.map((tool: { function: { name: string } }) => tool.function.name)
        expect(offered.sort()).toEqual([
          ...["get_memory", "list_decisions", "list_inbox", "merge_inbox_entry", "record_memory"],
          ...["submit_inbox_entry", "update_session"],
        ])
      }),
    { timeout: 60_000 },
  )

  it.effect(
    "that fails is a remark: the merge stands",
    () =>
      Effect.gen(function* () {
        const house: House = { [scribe]: () => fails(400, "invalid_request_error") }
        const { nth, merge, repository, events, runId, call } = yield* begin(one, { house })
        yield* nth("review.requested")
        yield* merge
        expect(repository.git("show", "main:one.txt")).toBe("one")
        const [failed] = yield* events("run.scribe_failed")
        expect(failed?.payload.reason).toBeTruthy()
        expect((yield* call("GET", `/api/runs/${runId}`)).body).toMatchObject({
          status: "merged",
          coordinator_status: "complete",
        })
      }),
    { timeout: 60_000 },
  )
})

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "90 seconds" })("autopilot", (it) => {
  const asking: Script = {
    parts: [
      {
        title: "Write one",
        does: ({ text }) => [
          ["ask_question", { question: "Which colour?" }],
          write("one.txt", text.includes("Which colour?") ? "" : "asked\n"),
        ],
      },
    ],
  }

  it.effect(
    "answers what a child asks, once, and tells it",
    () =>
      Effect.gen(function* () {
        const house: House = { [answering]: () => ({ text: "Take green." }) }
        const { nth, events, children, call, requests } = yield* begin(asking, { house, start: { autopilot: true } })
        yield* nth("review.requested")
        const [child] = yield* children
        const answered = yield* events("coordinator.autopilot_answered")
        expect(answered.map(({ payload }) => payload)).toMatchObject([
          { childRunId: child.childRunId, question: "Which colour?", answer: "Take green." },
        ])
        const { body: heard } = yield* call("GET", `/api/runs/${child.childRunId}/events?type=agent.question_answered`)
        expect(heard).toMatchObject([{ payload: { answer: "Take green.", timedOut: false, answeredBy: "autopilot" } }])
        expect(requests.filter(({ body }) => String(body.messages?.[0]?.content).includes(answering))).toHaveLength(1)
      }),
    { timeout: 60_000 },
  )

  it.effect("answers what the outcome spec asks before it confirms it", () =>
    Effect.gen(function* () {
      const drafted = {
        desired_outcome: "It is done",
        scope: "",
        assumptions: "",
        clarifying_questions: "Which colour?",
      }
      const house: House = {
        [answering]: () => ({ text: "Take green." }),
        desired_outcome: () => ({ text: JSON.stringify(drafted) }),
      }
      const start = { start_mode: "defineOutcome", autopilot: true }
      const { nth, events, on, runId } = yield* begin(one, { house, start })
      yield* nth("coordinator.work_plan")
      const answered = yield* events("coordinator.autopilot_answered")
      expect(answered.map(({ payload }) => payload)).toMatchObject([
        { runId, question: "Which colour?", answer: "Take green." },
      ])
      const { body: spec } = yield* on("GET", "/outcome-spec")
      expect(spec).toMatchObject({ status: "confirmed", confirmedBy: "ada", assumptions: "Take green." })
    }),
  )

  it.effect(
    "that is off leaves the question to people, until it is switched on",
    () =>
      Effect.gen(function* () {
        const house: House = { [answering]: () => ({ text: "Take green." }) }
        const { nth, events, on, plan } = yield* begin(asking, { house })
        yield* nth("coordinator.child_question")
        expect(yield* events("coordinator.autopilot_answered")).toEqual([])
        expect((yield* plan).status).toBe("dispatching")
        expect((yield* on("POST", "/autopilot", { enabled: true })).status).toBe(200)
        yield* nth("coordinator.autopilot_answered")
        yield* nth("review.requested")
      }),
    { timeout: 60_000 },
  )
})

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "90 seconds" })("a cancelled orchestration", (it) => {
  it.effect(
    "has a cancelled plan, cancelled children, and begins nothing more",
    () =>
      Effect.gen(function* () {
        const script: Script = {
          parts: [
            { title: "Ask first", does: () => [["ask_question", { question: "Which colour?" }]] },
            { title: "Write two", dependsOn: [1], does: () => [write("two.txt", "two\n")] },
          ],
        }
        const { nth, on, plan, children, events, call, runId } = yield* begin(script)
        yield* nth("coordinator.child_question")
        expect((yield* on("POST", "/cancel")).body).toMatchObject({ status: "failed", cancelled: true })
        expect(yield* plan).toMatchObject({
          status: "cancelled",
          statusReason: "cancelled",
          subtasks: [{ status: "failed" }, { status: "pending" }],
        })
        expect(yield* children).toMatchObject([{ subtaskStatus: "failed", childRunStatus: "failed" }])
        const { body: graph } = yield* on("GET", "/graph")
        expect(graph.nodes[0]).toMatchObject({ id: "coordinator", status: "cancelled", status_reason: "cancelled" })
        expect((yield* call("GET", `/api/runs/${runId}`)).body).toMatchObject({ coordinator_status: "cancelled" })
        expect((yield* on("POST", "/cancel")).body).toMatchObject({ cancelled: false, already_terminal: true })
        expect(yield* events("subtask.dispatched")).toHaveLength(1)
      }),
    { timeout: 60_000 },
  )

  it.effect("at its outcome spec leaves the spec declined", () =>
    Effect.gen(function* () {
      const { nth, on } = yield* begin(one, { start: { start_mode: "defineOutcome" } })
      yield* nth("coordinator.outcome_spec")
      expect((yield* on("POST", "/cancel")).status).toBe(200)
      expect((yield* on("GET", "/outcome-spec")).body).toMatchObject({ status: "declined" })
      expect((yield* on("POST", "/outcome-spec/confirm")).status).toBe(409)
    }),
  )
})
