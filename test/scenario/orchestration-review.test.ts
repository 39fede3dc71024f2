/** What people decide about an orchestration: its outcome, its review, and who works on it. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { orchestration, type Part, run, write } from "#test/scenario/orchestration-team.ts"
import { TestDatabase } from "#test/support/database.ts"

const two: ReadonlyArray<Part> = [
  {
    title: "Write one",
    does: ({ text, tellings }) => [
      write("one.txt", text.includes("in red") ? "red\n" : "plain\n"),
      ...(tellings > 1 ? [write("again.txt", "in place\n")] : []),
    ],
  },
  { title: "Write two", does: () => [write("two.txt", "two\n")] },
]

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "90 seconds" })("a person", (it) => {
  it.effect(
    "asks for changes of one file, then of one child in place, and approves once",
    () =>
      Effect.gen(function* () {
        const { nth, plan, review, steer, events, merge, repository, children } = yield* orchestration({ parts: two })
        yield* nth("review.requested")
        const wanted = { request_changes: true, feedback: "Make it in red, please", target_files: ["one.txt"] }
        expect(yield* review(wanted)).toMatchObject({ status: 200, body: { accepted: true } })
        yield* nth("review.requested", 2)
        const [one, other] = (yield* plan).subtasks
        expect([one.assignedAgent, other.assignedAgent]).toEqual(["Backend-2", "Backend"])
        const received = yield* events("coordinator.steering_received")
        expect(received[0]?.payload).toMatchObject({ source: "human-review", verb: "redirect" })
        const amended = { kind: "amend", target_child_run_id: one.childRunId, instruction: "Sign it in red" }
        expect(yield* steer(amended)).toMatchObject({ status: 201, body: { kind: "amend", createdBy: "ada" } })
        yield* nth("review.requested", 3)
        const decisions = yield* events("coordinator.steering_decision")
        expect(decisions.map(({ payload }) => payload.decision)).toEqual(["dispatch_fresh", "in_place_steer"])
        // the same child went on: nobody was sent away for it
        const after = yield* children
        expect(after.find((child: typeof one) => child.subtaskId === one.subtaskId).childRunId).toBe(one.childRunId)
        // a note changes nothing
        expect(yield* steer({ kind: "send", instruction: "Well done" })).toMatchObject({
          status: 201,
          body: { kind: "send", status: "applied" },
        })
        expect((yield* plan).status).toBe("in_review")
        const types = yield* merge
        expect(types.filter((type) => type === "merge.completed")).toHaveLength(1)
        expect(repository.git("show", "main:one.txt")).toBe("red")
        expect(repository.git("show", "main:again.txt")).toBe("in place")
        expect(repository.git("show", "main:two.txt")).toBe("two")
      }),
    { timeout: 80_000 },
  )

  it.effect(
    "declines, and nothing is merged",
    () =>
      Effect.gen(function* () {
        const { nth, on, plan, review, repository, until, runId } = yield* orchestration({ parts: two })
        yield* nth("review.requested")
        const before = repository.git("rev-parse", "main")
        expect((yield* review({ approved: false, feedback: "Not now" })).status).toBe(200)
        const types = yield* until(runId, "none")
        expect(types).toEqual(expect.arrayContaining(["coordinator.assembly_declined", "review.declined"]))
        expect((yield* on("GET", "")).body).toMatchObject({ status: "declined" })
        expect(yield* plan).toMatchObject({ status: "assembly_declined", assemblyTerminalStage: "review" })
        expect(yield* review({ approved: true })).toMatchObject({ status: 409 })
        expect(repository.git("rev-parse", "main")).toBe(before)
      }),
    { timeout: 60_000 },
  )

  it.effect(
    "answers a child's question and lets its command through, at the coordinator",
    () =>
      Effect.gen(function* () {
        const { nth, on, merge, repository } = yield* orchestration({
          parts: [
            {
              title: "Paint it",
              does: () => [
                ["ask_question", { question: "Which colour?" }],
                run("rm -rf build && echo removed > removed.txt"),
              ],
            },
          ],
        })
        const asked = yield* nth("coordinator.child_question")
        expect(asked.payload).toMatchObject({ question: "Which colour?" })
        const answer = yield* on("POST", `/questions/${asked.payload.requestId}/answer`, { answer: "blue" })
        expect(answer).toMatchObject({ status: 200, body: { answered: true, run_id: asked.payload.childRunId } })
        const waiting = yield* nth("coordinator.child_approval_required")
        expect(waiting.payload).toMatchObject({ childRunId: asked.payload.childRunId })
        const [command_hash] = /sha256:\w+/.exec(waiting.payload.message) ?? []
        const approved = yield* on("POST", "/shell-approvals", { command_hash })
        expect(approved).toMatchObject({ status: 200, body: { approved: true } })
        yield* nth("review.requested")
        yield* merge
        expect(repository.git("show", "main:removed.txt")).toBe("removed")
      }),
    { timeout: 60_000 },
  )

  it.effect(
    "has the outcome drafted again before anything is planned",
    () =>
      Effect.gen(function* () {
        const { nth, on, merge, repository } = yield* orchestration(
          { parts: two, outcome: (asked) => (asked.includes("with tests") ? "Two files, with tests" : "Two files") },
          { start: { start_mode: "defineOutcome" } },
        )
        const spec = on("GET", "/outcome-spec")
        yield* nth("coordinator.outcome_spec")
        expect((yield* spec).body).toMatchObject({ desiredOutcome: "Two files", status: "awaiting_confirmation" })
        const revised = yield* on("POST", "/outcome-spec/revise", { feedback: "But with tests" })
        expect(revised).toMatchObject({ status: 200, body: { status: "drafting" } })
        yield* nth("coordinator.outcome_spec", 2)
        expect((yield* spec).body).toMatchObject({ goal: "Write it all", desiredOutcome: "Two files, with tests" })
        const confirm = () => on("POST", "/outcome-spec/confirm")
        expect(yield* confirm()).toMatchObject({ status: 200, body: { status: "confirmed", confirmedBy: "ada" } })
        expect(yield* confirm()).toMatchObject({ status: 200, body: { status: "confirmed" } })
        yield* nth("review.requested")
        yield* merge
        expect(repository.git("show", "main:one.txt")).toBe("plain")
      }),
    { timeout: 60_000 },
  )
})
