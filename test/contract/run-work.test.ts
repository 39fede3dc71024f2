/** The routes of a run that touch its work: review, commit, delete, retry, and what is told of it afterwards. */
import { existsSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { newId } from "#core/ids.ts"
import { TestDatabase } from "#test/support/database.ts"
import { agentThat, makeOrchestra, type Orchestra } from "#test/support/orchestra.ts"

const writer = agentThat([["write_file", { path: "a.txt", content: "from the agent\n" }]])

const reviewed = Effect.gen(function* () {
  const orchestra = yield* makeOrchestra(writer)
  const { service, start, until, call } = orchestra
  const runId = yield* start("Write a file")
  yield* until(runId, "review.requested", "run.failed")
  const { worktreePath } = yield* service.runs.get(runId)
  const on = (method: string, rest: string, body?: unknown, as?: "ada" | "ben" | "eve") =>
    call(method, `/api/runs/${runId}${rest}`, body, as)
  return { ...orchestra, runId, checkout: worktreePath ?? "", on }
}).pipe(Effect.orDie)

/** The folders of runs below the data folder of a service. */
const runFolders = (data: string): ReadonlyArray<string> => {
  const inside = (path: string) => (existsSync(path) ? readdirSync(path) : [])
  const git = join(data, "git")
  return inside(git).flatMap((name) => inside(join(git, name, "runs")))
}

/** Soon no branch and no folder of a run is there. */
const nothingLeft = Effect.fnUntraced(function* (repository: Orchestra["repository"], { Data }: Orchestra["settings"]) {
  const left = Effect.sync(() => [repository.git("branch", "--list", "svc/*"), ...runFolders(String(Data?.Directory))])
  yield* Effect.repeat(left, {
    until: ([branches, ...folders]) => branches === "" && folders.length === 0,
    schedule: Schedule.spaced("50 millis"),
  }).pipe(Effect.timeoutOption("10 seconds"))
  expect(yield* left).toEqual([""])
})

interface Decided {
  readonly payload: { readonly question: string; readonly input: unknown }
}

const short = ({ status, body }: { status: number; body: { error?: string; status?: string } | null }) =>
  `${status} ${body?.error ?? body?.status}`

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("the work of a run", (it) => {
  it.effect("is not approved where it is not what was shown, and is once it is that again", () =>
    Effect.gen(function* () {
      const { on, checkout, until, runId, repository } = yield* reviewed
      const approve = () => on("POST", "/review", { approved: true })
      writeFileSync(join(checkout, "later.txt"), "slipped in\n")
      for (const answer of [yield* approve(), yield* approve()]) {
        expect(answer.status).toBe(409)
        expect(answer.body).toMatchObject({
          error: "worktree_changed",
          message: "Worktree content has changed since review was requested.",
          status: "awaiting_review",
        })
      }
      expect((yield* on("GET", "")).body.status).toBe("awaiting_review")
      writeFileSync(join(checkout, "a.txt"), "changed\n")
      expect(short(yield* approve())).toBe("409 worktree_changed")
      expect(repository.git("ls-tree", "--name-only", "main")).toBe("README.md")

      // a person who commits it takes it as it is, and policies are asked about just that
      expect((yield* on("POST", "/commit")).body).toMatchObject({ status: "merged", conflicting_files: null })
      yield* until(runId, "merge.completed")
      const { body: decisions } = yield* on("GET", "/events?type=policy.decision")
      const asked = decisions.findLast((event: Decided) => event.payload.question === "review.accept")
      expect(asked?.payload.input).toMatchObject({ reviewer: "ada", files: ["a.txt", "later.txt"] })
      expect(repository.git("show", "main:later.txt")).toBe("slipped in")
      expect(repository.git("show", "main:a.txt")).toBe("changed")
      expect(short(yield* on("POST", "/commit"))).toBe("409 run_not_active")
      expect(short(yield* approve())).toBe("200 merged")
      expect(short(yield* on("POST", "/review", { approved: false }))).toBe("409 run_not_active")
    }),
  )

  it.effect("is not merged into what it does not fit: a dirty tree waits, a conflict ends it", () =>
    Effect.gen(function* () {
      const { on, repository } = yield* reviewed
      repository.write({ "a.txt": "from a person\n" })
      const blocked = yield* on("POST", "/commit")
      expect(blocked.body).toMatchObject({ error: "conflict", status: "awaiting_review" })
      const codes = (yield* on("GET", "/terminal-diagnostic")).body.supported_interpretations
      expect(codes.map(({ code }: { code: string }) => code)).toEqual(["work_undone"])
      repository.commit({ "a.txt": "from a person\n" })
      const conflicting = yield* on("POST", "/commit")
      expect(conflicting).toMatchObject({
        status: 200,
        body: { status: "merge_failed", conflicting_files: ["a.txt"] },
      })
      expect((yield* on("GET", "")).body.merge_conflicts).toBe('["a.txt"]')
      expect(short(yield* on("POST", "/commit"))).toBe("409 run_not_active")
      expect(repository.git("show", "main:a.txt")).toBe("from a person")
      expect(repository.git("status", "--porcelain")).toBe("")
    }),
  )

  it.effect("is decided by contributors alone, and refuses decisions that are none", () =>
    Effect.gen(function* () {
      const { on, call, projectId } = yield* reviewed
      const assign = (principal_id: string, role: string) =>
        call("POST", `/api/projects/${projectId}/role-assignments`, { principal_id, role })
      yield* assign("ben", "viewer")
      const posts: ReadonlyArray<readonly [string, unknown]> = [
        ["/review", { approved: true }],
        ["/commit", undefined],
        ["/request-changes", { comment: "x" }],
        ["/retry", undefined],
        ["/archive", undefined],
        ["/cancel", undefined],
      ]
      for (const [path, body] of posts) {
        expect(short(yield* on("POST", path, body, "ben")), path).toBe("403 forbidden")
        expect(short(yield* on("POST", path, body, "eve")), path).toBe("403 forbidden")
        expect(short(yield* call("POST", `/api/runs/${newId()}${path}`, body)), path).toBe("404 run_not_found")
        expect(short(yield* call("POST", `/api/runs/1${path}`, body)), path).toBe("400 invalid_run_id")
      }
      expect((yield* on("DELETE", "", undefined, "ben")).status).toBe(403)
      const bodies = [{}, { approved: "yes" }, { approved: true, request_changes: true }, [], "approved"]
      for (const body of bodies) {
        expect(short(yield* on("POST", "/review", body)), JSON.stringify(body)).toBe("400 invalid_request")
      }
      for (const feedback of [undefined, "", " \n", "x".repeat(8_001)]) {
        const body = { approved: false, request_changes: true, feedback }
        expect(short(yield* on("POST", "/review", body))).toBe("400 invalid_request")
      }
      expect(short(yield* on("POST", "/retry"))).toBe("409 run_not_retryable")
      expect((yield* on("GET", "")).body.status).toBe("awaiting_review")
    }),
  )

  it.effect("is not called safe where it is longer than what is read of it", () =>
    Effect.gen(function* () {
      const { call, start, until } = yield* makeOrchestra(
        agentThat([["run_command", { command: "seq 1 200000 >a.txt; echo hidden >z.txt" }]]),
      )
      const runId = yield* start("Write much")
      yield* until(runId, "review.requested", "run.failed")
      const [said] = (yield* call("GET", `/api/runs/${runId}/events?type=rai.verdict`)).body
      expect(said.payload).toMatchObject({
        verdict: "yellow",
        rationale: expect.stringContaining("only its beginning"),
      })
      expect((yield* call("GET", `/api/runs/${runId}`)).body.status).toBe("awaiting_review")
    }),
  )

  it.effect("goes with the run that is deleted: record, checkout and branch", () =>
    Effect.gen(function* () {
      const { on, call, checkout, runId, repository } = yield* reviewed
      expect(existsSync(checkout)).toBe(true)
      const archived = yield* on("POST", "/archive")
      expect(archived.body).toEqual({ run_id: runId, archived_at: expect.any(String) })
      expect((yield* on("POST", "/archive")).body).toEqual(archived.body)
      expect(repository.git("branch", "--list", "svc/*")).toContain(runId)
      expect((yield* on("DELETE", "")).status).toBe(204)
      expect(short(yield* on("DELETE", ""))).toBe("404 run_not_found")
      expect(existsSync(checkout)).toBe(false)
      expect(repository.git("branch", "--list", "svc/*")).toBe("")
      expect((yield* call("GET", `/api/metrics/runs/${runId}/traces`)).status).toBe(404)
    }),
  )

  it.effect("is deleted while its agent works", () =>
    Effect.gen(function* () {
      const { call, service, start, until, repository } = yield* makeOrchestra(
        agentThat([["run_command", { command: "echo on; while true; do echo x >file; done" }]]),
      )
      const runId = yield* start("Work without end")
      yield* until(runId, "tool.output", "run.failed")
      const { worktreePath } = yield* service.runs.get(runId)
      expect((yield* call("DELETE", `/api/runs/${runId}`)).status).toBe(204)
      yield* Effect.repeat(
        Effect.sync(() => existsSync(worktreePath ?? "") || repository.git("branch", "--list", "svc/*") !== ""),
        { until: (left) => !left, schedule: Schedule.spaced("20 millis") },
      ).pipe(Effect.timeout("15 seconds"))
      expect(yield* service.sql`select from run_work where run_id = ${runId}`).toHaveLength(0)
    }),
  )

  it.effect("leaves nothing behind where it is deleted while its checkout is made, or before", () =>
    Effect.gen(function* () {
      const { call, start, settings, repository } = yield* makeOrchestra(writer, {
        settings: { Runs: { Workers: 2 } },
      })
      const moments = Array.from({ length: 12 }, (_, at) => `${at * 15} millis` as const)
      yield* Effect.forEach(
        moments,
        Effect.fnUntraced(function* (moment) {
          const runId = yield* start("Write a file")
          yield* Effect.sleep(moment)
          expect((yield* call("DELETE", `/api/runs/${runId}`)).status).toBe(204)
          expect(short(yield* call("DELETE", `/api/runs/${runId}`))).toBe("404 run_not_found")
        }),
        { concurrency: 4 },
      )
      yield* nothingLeft(repository, settings)
    }),
  )

  it.effect("outlives its project, cancelled where that is deleted while its checkout is made", () =>
    Effect.gen(function* () {
      const { call, start, projectId, settings, repository } = yield* makeOrchestra(writer)
      const runId = yield* start("Write a file")
      const remove = () => call("DELETE", `/api/projects/${projectId}?confirm=true`)
      expect((yield* remove()).status).toBe(204)
      expect((yield* remove()).status).toBe(404)
      const { body } = yield* call("GET", `/api/runs/${runId}`)
      expect(body).toMatchObject({ status: "cancelled", result: "cancelled", project_id: null })
      expect((yield* call("DELETE", `/api/runs/${runId}`)).status).toBe(204)
      yield* nothingLeft(repository, settings)
    }),
  )

  it.effect("is tried again three times at most, each failed run once", () =>
    Effect.gen(function* () {
      const { call, start, until } = yield* makeOrchestra(() => ({
        status: 401,
        body: { error: { message: "no", code: "invalid_api_key" } },
      }))
      const retry = (runId: string) => call("POST", `/api/runs/${runId}/retry`)
      const chain = [yield* start("Try")]
      yield* until(chain[0] ?? "", "run.failed")
      for (let depth = 1; depth <= 3; depth++) {
        const last = chain.at(-1) ?? ""
        const retried = yield* retry(last)
        expect(retried).toMatchObject({ status: 201, body: { retried_from: last } })
        chain.push(retried.body.run_id)
        yield* until(retried.body.run_id, "run.failed")
        expect(yield* retry(last)).toMatchObject({
          status: 409,
          body: { error: "run_not_retryable", retried_by: retried.body.run_id },
        })
      }
      expect(short(yield* retry(chain.at(-1) ?? ""))).toBe("409 retry_limit_reached")
      expect(new Set(chain).size).toBe(4)
    }),
  )

  it.effect("that cannot begin says why: a branch that is not there, a provider that is not set", () =>
    Effect.gen(function* () {
      const { call, start, until } = yield* makeOrchestra(writer)
      const failureOf = Effect.fnUntraced(function* (more: object) {
        const runId = yield* start("x", more)
        yield* until(runId, "run.failed", "review.requested")
        return (yield* call("GET", `/api/runs/${runId}/events?type=run.failed`)).body[0].payload
      })
      expect(yield* failureOf({ originating_branch: "gone" })).toMatchObject({ errorCode: "checkout_unknown_branch" })
      expect(yield* failureOf({ model_source: "byok" })).toMatchObject({ errorCode: "Configuration", retryable: false })
      expect(yield* failureOf({ model_source: "byok:none" })).toMatchObject({ errorCode: "Configuration" })
      expect(yield* failureOf({ model_source: "tape" })).toMatchObject({ errorCode: "Configuration" })
    }),
  )

  it.effect("can be looked into: graph, tokens, spans and reasons, at any time and by who may see it", () =>
    Effect.gen(function* () {
      const { on, call, runId } = yield* reviewed
      const graph = (yield* on("GET", "/graph")).body
      const live = graph.nodes.flatMap((node: { id: string; kind: string }) => (node.kind === "live" ? [node.id] : []))
      expect(live).toEqual(["agent", "rai", "review"])
      const ids = graph.nodes.map((node: { id: string }) => node.id)
      for (const { from, to } of graph.edges) expect(ids).toEqual(expect.arrayContaining([from, to]))
      expect((yield* on("GET", "/token-breakdown")).body).toMatchObject({ hasAgentData: true })
      expect((yield* on("GET", "/terminal-diagnostic")).body).toMatchObject({ is_terminal: false })
      const { spans } = (yield* call("GET", `/api/metrics/runs/${runId}/traces`)).body
      expect(spans.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(["run", "turn"]))
      for (const path of [`${runId}/graph`, `${runId}/token-breakdown`, `${runId}/terminal-diagnostic`]) {
        expect(short(yield* call("GET", `/api/runs/${path}`, undefined, "eve")), path).toBe("403 forbidden")
        const other = path.replace(runId, newId())
        expect(short(yield* call("GET", `/api/runs/${other}`)), path).toBe("404 run_not_found")
      }
      expect(short(yield* call("GET", `/api/metrics/runs/${newId()}/traces`))).toBe("404 run_not_found")
    }),
  )
})
