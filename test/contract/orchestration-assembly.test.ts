/** The routes of what an orchestration has assembled: its files, the decision on it, and going on where it is held up. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { begun, short } from "#test/contract/orchestration.ts"
import { TestDatabase } from "#test/support/database.ts"

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("an assembly's routes", (it) => {
  it.effect("take one decision about what was assembled, and the same one twice", () =>
    Effect.gen(function* () {
      const { on, reviewable, repository } = yield* begun()
      const review = (body: unknown, as?: "ada" | "ben" | "eve") => on("POST", "/assembly/review", body, as)
      expect(yield* review({ approved: true })).toEqual({
        status: 409,
        body: { error: "no_assembly_review_pending", message: expect.any(String) },
      })
      for (const rest of ["/assembly/files", "/assembly/workspace"]) expect((yield* on("GET", rest)).body).toEqual([])
      expect((yield* on("GET", "/assembly/files/a.txt")).status).toBe(404)
      yield* reviewable
      const none = [
        {},
        { feedback: "x" },
        { approved: true, declined: true },
        { request_changes: true },
        { approved: 1 },
      ]
      for (const body of none) expect((yield* review(body)).status, JSON.stringify(body)).toBe(400)
      expect(short(yield* review({ approved: true }, "eve"))).toBe("403 forbidden")
      expect((yield* on("GET", "/assembly/files")).body).toEqual([])
      expect((yield* on("GET", "/assembly/files?filter=some")).status).toBe(400)
      const read = yield* on("GET", "/assembly/content/README.md")
      expect(read.body).toMatchObject({ path: "README.md", is_binary: false, language: "markdown" })
      expect((yield* on("GET", "/assembly/content/none.txt")).status).toBe(404)
      const accepted = { status: 200, body: { runId: expect.any(String), accepted: true } }
      for (const _ of [1, 2]) expect(yield* review({ approved: true })).toEqual(accepted)
      expect((yield* on("GET", "")).body.status).toBe("merging")
      expect((yield* review({ approved: false })).status).toBe(409)
      expect(short(yield* on("POST", "/steer", { kind: "send", instruction: "x" }))).toBe("409 conflict")
      expect(repository.git("rev-list", "--count", "main")).toBe("1")
    }),
  )

  it.effect("decline for good, and ask for changes as often as it takes", () =>
    Effect.gen(function* () {
      const declined = yield* begun()
      yield* declined.reviewable
      const review = (body: unknown) => declined.on("POST", "/assembly/review", body)
      expect((yield* review({ approved: false, request_changes: false })).status).toBe(200)
      expect((yield* declined.on("GET", "")).body.status).toBe("declined")
      expect((yield* review({ approved: true })).status).toBe(409)
      expect((yield* declined.on("GET", "/work-plan")).body).toMatchObject({
        status: "assembly_declined",
        assemblyTerminalStage: "review",
      })
      const changed = yield* begun()
      yield* changed.reviewable
      const wanted = { request_changes: true, feedback: "Better\nTARGET_FILES: a.txt" }
      expect((yield* changed.on("POST", "/assembly/review", wanted)).status).toBe(200)
      expect((yield* changed.on("GET", "/work-plan")).body.status).toBe("assembly_steering")
      expect(short(yield* changed.on("POST", "/assembly/review", wanted))).toBe("409 no_assembly_review_pending")
      const state = yield* changed.store.load(changed.runId)
      expect(state?.directives).toMatchObject([
        {
          signal: { source: "human-review", verb: "redirect", targetFiles: ["a.txt"], treeHash: "tree" },
          status: "relayed",
        },
      ])
      expect(state?.plan?.humanReviewRoundTrips).toBe(1)
    }),
  )

  it.effect("show what would be merged: the files, what changed in each, and their contents", () =>
    Effect.gen(function* () {
      const { on, assembled, repository } = yield* begun()
      repository.git("checkout", "--quiet", "-b", "work")
      const commit = repository.commit({ "src/new.ts": "export const one = 1\n", "README.md": "# Another\n" })
      repository.git("checkout", "--quiet", "main")
      yield* assembled(commit)
      const counts = { added_lines: 1, removed_lines: 0 }
      const files = [
        { path: "README.md", status: "modified", scope: "committed", added_lines: 1, removed_lines: 1 },
        { path: "src/new.ts", status: "added", scope: "committed", ...counts },
      ]
      for (const filter of ["", "?filter=all", "?filter=committed"]) {
        expect(yield* on("GET", `/assembly/files${filter}`), filter).toEqual({ status: 200, body: files })
      }
      expect((yield* on("GET", "/assembly/files?filter=uncommitted")).body).toEqual([])
      expect((yield* on("GET", "/assembly/workspace")).body).toEqual(
        expect.arrayContaining([
          { path: "README.md", is_folder: false, status: "modified", added_lines: 1, removed_lines: 1 },
          { path: "src", is_folder: true, status: null, added_lines: 0, removed_lines: 0 },
          { path: "src/new.ts", is_folder: false, status: "added", ...counts },
        ]),
      )
      const { body: changed } = yield* on("GET", "/assembly/files/README.md")
      expect(changed).toMatchObject({ path: "README.md", status: "modified", is_binary: false })
      expect(changed.diff).toContain("-# A project\n+# Another\n")
      expect(yield* on("GET", "/assembly/content/src/new.ts")).toEqual({
        status: 200,
        body: { path: "src/new.ts", content: "export const one = 1\n", is_binary: false, language: "typescript" },
      })
      for (const path of ["../README.md", "%2e%2e/README.md", "src/none.ts", ".git/config"]) {
        for (const kind of ["files", "content"]) {
          expect([400, 404], `${kind} ${path}`).toContain((yield* on("GET", `/assembly/${kind}/${path}`)).status)
        }
      }
    }),
  )

  it.effect("let a plan go on that is held up, once; and a failed run begin anew, once", () =>
    Effect.gen(function* () {
      const { on, runId, assembled, change, repository, call } = yield* begun()
      const retry = on("POST", "/retry")
      expect(short(yield* retry)).toBe("409 run_not_retryable")
      yield* assembled(repository.git("rev-parse", "main"))
      const away = { reason: "build_test_infra_no_sandbox", message: "There is no sandbox." }
      const held = { _tag: "AssemblyBlocked", reason: "rai_infrastructure_unavailable", infrastructure: away } as const
      yield* change(() => [held])
      expect((yield* on("GET", "/work-plan")).body).toMatchObject({
        ...{ status: "assembly_blocked", assemblyStage: "rai", assemblyTerminalStage: null },
      })
      // there is nothing yet that could be approved
      expect(short(yield* on("POST", "/assembly/review", { approved: true }))).toBe("409 no_assembly_review_pending")
      expect(yield* retry).toEqual({
        status: 200,
        body: { run_id: runId, retried_from: null, status: "in_progress", resumed: true },
      })
      expect((yield* on("GET", "/work-plan")).body).toMatchObject({ status: "assembling", assemblyStage: "rai" })
      expect(short(yield* retry)).toBe("409 run_not_retryable")
      const recovered = (yield* on("GET", "/events?type=coordinator.recovered")).body
      expect(recovered).toHaveLength(1)
      // a word to a plan that is held up lets it go on too
      yield* change(() => [{ _tag: "GateStarted", gateId: "g2" }, held])
      const sent = yield* on("POST", "/steer", { kind: "send", instruction: "The sandbox is back" })
      expect(sent).toMatchObject({ status: 201, body: { kind: "send", status: "applied" } })
      expect((yield* on("GET", "/work-plan")).body).toMatchObject({ status: "assembling" })

      yield* on("POST", "/cancel")
      const first = yield* retry
      expect(first).toMatchObject({ status: 201, body: { retried_from: runId, status: "in_progress" } })
      expect(yield* retry).toEqual({ ...first, status: 200 })
      const anew = yield* call("GET", `/api/runs/${first.body.run_id}`)
      expect(anew.body).toMatchObject({ task: "Write it", agent_name: "Coordinator", retried_from: runId })
      expect((yield* call("GET", `/api/runs/${first.body.run_id}/children`)).body).toEqual([])
      const other = yield* begun()
      yield* other.planned
      const childRunId = yield* other.child(other.ids.one)
      yield* other.on("POST", "/cancel")
      expect(short(yield* other.call("POST", `/api/runs/${childRunId}/retry`))).toBe("409 run_not_retryable")
    }),
  )

  it.effect("let a person overrule the responsible-AI pass, and be asked again for the rest", () =>
    Effect.gen(function* () {
      const { on, assembled, change, repository } = yield* begun()
      yield* assembled(repository.git("rev-parse", "main"))
      yield* change(() => [{ _tag: "RaiBlocked", reason: "It spies." }])
      expect((yield* on("GET", "/work-plan")).body).toMatchObject({ status: "rai_blocked", assemblyStage: "rai" })
      const approve = on("POST", "/assembly/review", { approved: true })
      expect((yield* approve).status).toBe(200)
      expect((yield* on("GET", "/work-plan")).body).toMatchObject({ status: "assembling", assemblyStage: "review" })
      // nobody has been asked yet
      expect(short(yield* approve)).toBe("409 no_assembly_review_pending")
      expect((yield* on("GET", "")).body).toMatchObject({ status: "in_progress" })
    }),
  )

  it.effect(
    "take a word to the agents during the review as a note, and a redirect or amendment as wanted changes",
    () =>
      Effect.gen(function* () {
        for (const kind of ["redirect", "amend"]) {
          const { on, runId, reviewable, store } = yield* begun()
          const steer = (kind: string, instruction: string) => on("POST", "/steer", { kind, instruction })
          yield* reviewable
          for (const _ of [1, 2]) {
            expect(yield* steer("send", "Well done")).toMatchObject({ status: 201, body: { status: "applied" } })
          }
          expect((yield* on("GET", "")).body).toMatchObject({
            status: "awaiting_review",
            coordinator_status: "in_review",
          })
          const sent = yield* steer(kind, "Another colour\nTARGET_FILES: a.txt")
          expect(sent).toMatchObject({ status: 201, body: { status: "relayed", relayedAt: sent.body.createdAt } })
          const [told] = (yield* on("GET", "/events?type=coordinator.steering")).body.slice(-1)
          expect(told.payload).toMatchObject({ directiveId: sent.body.id, status: "relayed" })
          expect((yield* on("GET", "")).body).toMatchObject({
            ...{ status: "in_progress", coordinator_status: "assembly_steering" },
          })
          expect((yield* on("GET", "/events?type=review.changes_requested")).body).toHaveLength(1)
          const state = yield* store.load(runId)
          expect(state?.plan?.humanReviewRoundTrips).toBe(1)
          expect(state?.directives.at(-1)).toMatchObject({
            ...{ directiveId: sent.body.id, status: "relayed", decision: null },
            signal: {
              ...{ source: "human-review", verb: kind, treeHash: "tree", targetFiles: ["a.txt"], createdBy: "ada" },
            },
          })
          expect((yield* steer(kind, "And larger")).body).toMatchObject({ status: "pending" })
          expect(short(yield* on("POST", "/assembly/review", { approved: true }))).toBe(
            "409 no_assembly_review_pending",
          )
        }
      }),
  )
})
