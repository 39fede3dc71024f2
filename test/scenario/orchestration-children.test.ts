/** What becomes of the work of children that fit together badly, fail, or are stopped. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { orchestration, run, write } from "#test/scenario/orchestration-team.ts"
import { TestDatabase } from "#test/support/database.ts"

/** Adds a line at the end: two who do that from the same base conflict. */
const addLine = (line: string) => run(`echo ${line} >> list.txt`)

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "90 seconds" })("a child", (it) => {
  it.effect(
    "whose work overlaps with another's does it again on top of it, and nothing is lost",
    () =>
      Effect.gen(function* () {
        const { nth, events, plan, merge, repository } = yield* orchestration(
          {
            parts: [
              { title: "Write one", does: () => [addLine("one")] },
              { title: "Write two", does: () => [addLine("two")] },
              { title: "Write three", does: () => [write("three.txt", "three\n")] },
            ],
          },
          { files: { "README.md": "# One\n", "list.txt": "zero\n" } },
        )
        yield* nth("review.requested")
        const [conflict] = yield* events("merge.conflicted")
        expect(conflict?.payload).toMatchObject({ conflictingFiles: ["list.txt"] })
        expect((yield* plan).subtasks.map(({ status }: { status: string }) => status)).toEqual([
          "assemble_ready",
          "assemble_ready",
          "assemble_ready",
        ])
        expect(yield* events("subtask.dispatched")).toHaveLength(4)
        yield* merge
        expect(repository.git("show", "main:list.txt")).toBe("zero\none\ntwo")
        expect(repository.git("show", "main:three.txt")).toBe("three")
      }),
    { timeout: 60_000 },
  )

  it.effect(
    "whose work has all of another's and more is taken as it is, which is told",
    () =>
      Effect.gen(function* () {
        const { nth, events, children, merge, repository } = yield* orchestration(
          {
            parts: [
              { title: "Write one", does: () => [addLine("one")] },
              { title: "Write two", does: () => [run("echo one >> list.txt; echo two >> list.txt")] },
            ],
          },
          { files: { "README.md": "# One\n", "list.txt": "zero\n" } },
        )
        yield* nth("review.requested")
        const [, two] = yield* children
        const settled = yield* events("coordinator.integration_conflict_auto_resolved")
        expect(settled.map(({ payload }) => payload)).toMatchObject([
          { conflictingBranch: `svc/${two.childRunId}`, conflictingFiles: ["list.txt"], strategy: "accept_child" },
        ])
        expect(yield* events("merge.conflicted")).toEqual([])
        expect(yield* events("subtask.dispatched")).toHaveLength(2)
        yield* merge
        expect(repository.git("show", "main:list.txt")).toBe("zero\none\ntwo")
      }),
    { timeout: 60_000 },
  )

  it.effect(
    "that fails for good holds up what stands on it, until a person has it done again",
    () =>
      Effect.gen(function* () {
        let works = false
        const { nth, on, events, plan, steer, merge, repository } = yield* orchestration(
          {
            parts: [
              { title: "Write one", does: () => [write("one.txt", "one\n")] },
              // it never ends by itself: its steps are bounded
              {
                title: "Write two",
                does: ({ text }) =>
                  works && text.includes("Shorter")
                    ? [write("two.txt", "two\n")]
                    : Array.from({ length: 9 }, () => run("true")),
              },
              { title: "Put together", dependsOn: [1, 2], does: () => [run("cat one.txt two.txt > all.txt")] },
            ],
          },
          { settings: { RunBounds: { MaxSteps: 3 } } },
        )
        const blocked = yield* nth("coordinator.assembly_blocked")
        expect(blocked.payload).toMatchObject({ reason: "ineligible_subtasks" })
        const { subtasks, status } = yield* plan
        expect(status).toBe("assembly_blocked")
        expect(subtasks.map((subtask: { status: string }) => subtask.status)).toEqual([
          "assemble_ready",
          "failed",
          "blocked",
        ])
        // it was tried again by itself first, as often as it may be
        const tries = (yield* events("subtask.dispatched")).filter(
          ({ payload }) => payload.subtaskId === subtasks[1].subtaskId,
        )
        expect(tries).toHaveLength(4)
        expect((yield* on("GET", "")).body).toMatchObject({ status: "in_progress", ended_at: null })
        works = true
        const again = { kind: "dispatch-fresh", instruction: "Shorter, please" }
        expect(yield* steer(again)).toMatchObject({ status: 201 })
        yield* nth("review.requested")
        yield* merge
        expect(repository.git("show", "main:all.txt")).toBe("one\ntwo")
      }),
    { timeout: 80_000 },
  )

  it.effect(
    "is stopped, redirected or told something at its own run; a pause is refused",
    () =>
      Effect.gen(function* () {
        const { nth, call, on, until, steer, children, plan } = yield* orchestration({
          parts: [
            {
              title: "Write one",
              does: ({ text }) =>
                text.includes("instead") ? [write("other.txt", "x\n")] : [run("echo on; sleep 600")],
            },
            { title: "Write two", does: () => [run("echo on; sleep 600")] },
          ],
        })
        yield* nth("subtask.running", 2)
        const [one, two] = yield* children
        for (const child of [one, two]) yield* until(child.childRunId, "tool.output", "run.failed")
        expect(yield* steer({ kind: "pause" })).toMatchObject({ status: 400 })
        const stop = { kind: "stop", target_child_run_id: two.childRunId }
        expect(yield* steer(stop)).toMatchObject({ status: 201, body: { targetChildRunId: two.childRunId } })
        yield* nth("subtask.failed")
        expect((yield* call("GET", `/api/runs/${two.childRunId}`)).body).toMatchObject({ result: "steering_stop" })
        expect(yield* steer(stop)).toMatchObject({ status: 400, body: { error: "steering_invalid" } })
        const redirect = { kind: "redirect", target_child_run_id: one.childRunId, instruction: "Write another instead" }
        expect(yield* steer(redirect)).toMatchObject({ status: 201 })
        yield* nth("subtask.assemble_ready")
        expect((yield* call("GET", `/api/runs/${one.childRunId}`)).body).toMatchObject({ result: "steering_redirect" })
        const now = yield* children
        expect(now[0].childRunId).not.toBe(one.childRunId)
        yield* nth("coordinator.assembly_blocked")
        expect((yield* plan).status).toBe("assembly_blocked")
        expect(yield* steer({ kind: "stop" })).toMatchObject({ status: 201 })
        expect((yield* on("GET", "")).body).toMatchObject({ status: "failed", result: "steering_stop" })
      }),
    { timeout: 60_000 },
  )
})
