/** Runs on several replicas: with one data folder any may work and answer; with another one the work is not found. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestDatabase } from "#test/support/database.ts"
import { agentThat, callerOf, makeOrchestra } from "#test/support/orchestra.ts"
import { startService } from "#test/support/service.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const writer = agentThat([
  ["write_file", { path: "a.txt", content: "a\n" }],
  ["run_command", { command: "cat a.txt" }],
])

/** What a replica shows of the files of a run. */
const shownBy = Effect.fnUntraced(function* (call: ReturnType<typeof callerOf>, runId: string) {
  const get = (rest: string) => call("GET", `/api/runs/${runId}${rest}`)
  return {
    files: (yield* get("/files")).body,
    diff: (yield* get("/files/a.txt")).body.diff,
    content: (yield* get("/files/a.txt/content")).body.content,
    tree: (yield* get("/workspace")).body.map(({ path }: { path: string }) => path),
  }
})

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("replicas", (it) => {
  it.effect("with one data folder work on runs of one repository at the same time, and answer for each other", () =>
    Effect.gen(function* () {
      const one = yield* makeOrchestra(writer, { settings: { Runs: { Workers: 2 } } })
      const two = callerOf((yield* startService(one.settings)).url)
      const runIds = yield* Effect.forEach([1, 2, 3, 4, 5, 6], (part) => one.start(`Part ${part}`))
      yield* Effect.forEach(runIds, (runId) => one.until(runId, "review.requested", "run.failed"), {
        concurrency: "unbounded",
      })
      const owners = yield* one.service.sql`select from runs where status = 'awaiting_review' and fence = 1`
      expect(owners).toHaveLength(runIds.length)
      for (const runId of runIds) {
        const files = yield* two("GET", `/api/runs/${runId}/files`)
        expect(files.body).toMatchObject([{ path: "a.txt", status: "added" }])
      }
      const [first = ""] = runIds
      expect((yield* two("POST", `/api/runs/${first}/review`, { approved: true })).status).toBe(200)
      yield* one.until(first, "merge.completed", "merge.failed")
      expect(one.repository.git("show", "main:a.txt")).toBe("a")
    }),
  )

  it.effect("with another data folder show what was committed, until and after it is merged", () =>
    Effect.gen(function* () {
      const one = yield* makeOrchestra(writer)
      const directory = yield* Effect.promise(temporaryFolder)
      const settings = { ...one.settings, Data: { Directory: directory }, Runs: { Workers: 0 } }
      const other = callerOf((yield* startService(settings)).url)
      const runId = yield* one.start("Write")
      yield* one.until(runId, "review.requested", "run.failed")
      const shown = yield* shownBy(other, runId)
      expect(shown).toEqual(yield* shownBy(one.call, runId))
      expect(shown).toMatchObject({ files: [{ path: "a.txt", scope: "committed" }], content: "a\n" })
      expect((yield* other("GET", `/api/runs/${runId}/files?filter=uncommitted`)).body).toEqual([])
      expect((yield* other("GET", `/api/runs/${runId}/files?filter=last-commit`)).status).toBe(409)
      expect((yield* one.call("POST", `/api/runs/${runId}/commit`)).body).toMatchObject({ status: "merged" })
      expect(yield* shownBy(other, runId)).toEqual({ ...shown, files: [{ ...shown.files[0], scope: "merged" }] })
    }),
  )

  it.effect("with another data folder do not find the work, and say so", () =>
    Effect.gen(function* () {
      const asking = agentThat([["ask_question", { question: "Which colour?" }]])
      // the first replica stops when its run waits for a person
      const left = yield* Effect.scoped(
        Effect.gen(function* () {
          const { call, service, settings, start, until } = yield* makeOrchestra(asking)
          const runId = yield* start("Paint")
          yield* until(runId, "agent.question_asked", "run.failed")
          const [asked] = (yield* call("GET", `/api/runs/${runId}/events?type=agent.question_asked`)).body
          yield* Effect.repeat(
            service.sql<{ due: boolean }>`select due_at is not null as due from run_work where run_id = ${runId}`,
            { until: ([row]) => row?.due === false },
          )
          return { runId, settings, question: `/api/runs/${runId}/questions/${asked.payload.requestId}/answer` }
        }),
      )
      const directory = yield* Effect.promise(temporaryFolder)
      const other = yield* startService({ ...left.settings, Data: { Directory: directory } })
      const call = callerOf(other.url)
      expect((yield* call("GET", `/api/runs/${left.runId}/files`)).body).toEqual([])
      expect((yield* call("POST", left.question, { answer: "blue" })).status).toBe(200)
      yield* Effect.repeat(call("GET", `/api/runs/${left.runId}`), { until: ({ body }) => body.ended_at !== null })
      const [failed] = (yield* call("GET", `/api/runs/${left.runId}/events?type=run.failed`)).body
      expect(failed.payload).toMatchObject({ errorCode: "checkout_not_found", retryable: false })
    }),
  )
})
