/** What gates say of an assembly, and how it is repaired. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { orchestration, run, write } from "#test/scenario/orchestration-team.ts"
import { TestDatabase } from "#test/support/database.ts"

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "90 seconds" })("a gate of an orchestration", (it) => {
  it.effect(
    "sends the author of the named file away, and another repairs it",
    () =>
      Effect.gen(function* () {
        const { nth, plan, events, merge, repository } = yield* orchestration({
          parts: [
            { title: "Write one", does: () => [write("one.txt", "good\n")] },
            {
              title: "Write two",
              does: ({ text }) => [write("two.txt", text.includes("Not nice") ? "good\n" : "bad\n")],
            },
            { title: "Put together", dependsOn: [2], does: () => [run("cat two.txt > all.txt")] },
          ],
          rai: (change) =>
            change.includes("+bad") ? "Not nice.\nTARGET_FILES: two.txt\nVERDICT: REVISE" : "VERDICT: YELLOW",
        })
        yield* nth("review.requested")
        const [one, two, all] = (yield* plan).subtasks
        const [decision] = yield* events("coordinator.steering_decision")
        expect(decision?.payload).toMatchObject({
          decision: "dispatch_fresh",
          rationale: "author_locked_out",
          subtaskIds: [two.subtaskId, all.subtaskId],
        })
        expect([one, two, all].map(({ assignedAgent }) => assignedAgent)).toEqual(["Backend", "Backend-2", "Backend"])
        const dispatched = yield* events("subtask.dispatched")
        const tries = (id: number) => dispatched.filter(({ payload }) => payload.subtaskId === id).length
        expect([one, two, all].map(({ subtaskId }) => tries(subtaskId))).toEqual([1, 2, 2])
        const types = yield* merge
        expect(types.filter((type) => type === "merge.completed")).toHaveLength(1)
        expect(repository.git("show", "main:all.txt")).toBe("good")
        expect(repository.git("show", "main:one.txt")).toBe("good")
      }),
    { timeout: 60_000 },
  )

  it.effect(
    "tells what its own commands said, until they are content",
    () =>
      Effect.gen(function* () {
        const checks =
          "commands:\n  - { name: test, run: 'grep -q right one.txt || { echo one is wrong; echo TARGET_FILES: one.txt; exit 3; }' }\n"
        const { nth, events, merge, repository } = yield* orchestration(
          {
            parts: [
              {
                title: "Write one",
                does: ({ text }) => [write("one.txt", text.includes("one is wrong") ? "right\n" : "wrong\n")],
              },
              { title: "Write two", does: () => [write("two.txt", "two\n")] },
            ],
          },
          { files: { "README.md": "# One\n", ".svc/build.yml": checks } },
        )
        yield* nth("review.requested")
        const [received] = yield* events("coordinator.steering_received")
        expect(received?.payload).toMatchObject({ source: "build-test", severity: "request-changes" })
        expect(received?.payload.feedback).toContain("ended with 3")
        expect(yield* events("subtask.dispatched")).toHaveLength(3)
        yield* merge
        expect(repository.git("show", "main:one.txt")).toBe("right")
      }),
    { timeout: 60_000 },
  )

  it.effect(
    "that says no leaves it to a person, who may say otherwise",
    () =>
      Effect.gen(function* () {
        const { nth, plan, review, repository, until, runId } = yield* orchestration({
          parts: [{ title: "Write one", does: () => [write("one.txt", "one\n")] }],
          rai: () => "It spies.\nVERDICT: RED",
        })
        yield* nth("run.rai_blocked")
        expect(yield* plan).toMatchObject({ status: "rai_blocked", assemblyStage: "rai" })
        expect(repository.git("ls-tree", "--name-only", "main")).toBe("README.md")
        // what is overridden is the verdict of that gate: the others are asked, and then the person
        expect((yield* review({ approved: true })).status).toBe(200)
        yield* nth("review.requested")
        expect((yield* review({ approved: true })).status).toBe(200)
        yield* until(runId, "merge.completed", "run.failed")
        expect(repository.git("show", "main:one.txt")).toBe("one")
      }),
    { timeout: 60_000 },
  )
})
