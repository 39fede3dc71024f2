/** `POST /api/runs`: what is refused and why, who may start a run where, and what is taken from the project. */
import { symlinkSync } from "node:fs"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newId } from "#core/ids.ts"
import { TestDatabase } from "#test/support/database.ts"
import { agentThat, callerOf, makeOrchestra } from "#test/support/orchestra.ts"
import { testRepository } from "#test/support/repository.ts"
import { startService } from "#test/support/service.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

/** Nobody works on the runs: they stay as they were made. */
const idle = { settings: { Runs: { Workers: 0 } } }

/** A body beside a good project and task, and the paths that its refusal names. */
const wrong: ReadonlyArray<readonly [what: string, body: object, paths: ReadonlyArray<string>]> = [
  ["no task", { task: undefined }, ["body.task"]],
  ["a task of white space", { task: " \n\t" }, ["body.task"]],
  ["a task that is no text", { task: 1 }, ["body.task"]],
  ["a task that is too long", { task: "x".repeat(32_001) }, ["body.task"]],
  ["an unknown source", { model_source: "elsewhere" }, ["body.model_source"]],
  ["a source with a strange id", { model_source: "byok:../x" }, ["body.model_source"]],
  ["a model that is not allowed", { model_id: "llama-3" }, ["body.model_id"]],
  ["a model with a path", { model_id: "gpt/../../x" }, ["body.model_id"]],
  ["an option as a branch", { originating_branch: "--upload-pack=x" }, ["body.originating_branch"]],
  ["a branch with a newline", { originating_branch: "main\nx" }, ["body.originating_branch"]],
  ["an agent with markup", { agent_name: "<b>" }, ["body.agent_name"]],
  ["a switch that is a text", { auto_approve_tools: "yes" }, ["body.auto_approve_tools"]],
  ["a relative path", { repository_path: "here" }, ["body.repository_path"]],
  ["a folder that is not there", { repository_path: "/none/at/all" }, ["body.repository_path"]],
  ["neither project nor path", { project_id: undefined }, ["body.repository_path"]],
  [
    "much at once",
    { task: "", model_id: "x", agent_name: "\u0007" },
    ["body.task", "body.model_id", "body.agent_name"],
  ],
]

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("POST /api/runs", (it) => {
  it.effect("refuses each mistake with its place, and makes no run of it", () =>
    Effect.gen(function* () {
      const { call, projectId, service, requests } = yield* makeOrchestra(agentThat([]), idle)
      for (const [what, body, paths] of wrong) {
        const { status, body: said } = yield* call("POST", "/api/runs", { project_id: projectId, task: "x", ...body })
        expect([status, said.error], what).toEqual([400, "invalid_request"])
        expect(said.issues.map(({ path }: { path: string }) => path).sort(), what).toEqual([...paths].sort())
      }
      const list = yield* call("GET", `/api/projects/${projectId}/runs`)
      expect([list.status, list.body]).toEqual([200, []])
      expect(yield* service.sql`select from runs where project_id = ${projectId}`).toHaveLength(0)
      expect(requests).toEqual([])
    }),
  )

  it.effect("tells nothing of projects to who has no role, and lets contributors start", () =>
    Effect.gen(function* () {
      const { call, projectId, url } = yield* makeOrchestra(agentThat([]), idle)
      const start = (as: "ada" | "ben" | "eve", body: object = { project_id: projectId, task: "x" }) =>
        Effect.map(
          call("POST", "/api/runs", body, as),
          ({ status, body: said }) => `${status} ${said.error ?? said.status}`,
        )
      const assign = (subject: string, role: string) =>
        call("POST", `/api/projects/${projectId}/role-assignments`, { principal_id: subject, role })
      expect(yield* start("ben")).toBe("404 project_not_found")
      expect(yield* start("ben", { project_id: newId(), task: "x" })).toBe("404 project_not_found")
      expect(yield* start("ben", { project_id: "mine", task: "x" })).toBe("400 invalid_project_id")
      yield* assign("ben", "viewer")
      expect(yield* start("ben")).toBe("403 forbidden")
      yield* assign("eve", "contributor")
      expect(yield* start("eve")).toBe("201 pending")
      const nobody = yield* Effect.promise(() => fetch(`${url}/api/runs`, { method: "POST", body: "{" }))
      expect(nobody.status).toBe(401)
    }),
  )

  it.effect("asked twice makes two runs, each with what its project says", () =>
    Effect.gen(function* () {
      const { call, projectId, repository, service } = yield* makeOrchestra(agentThat([]), idle)
      yield* call("PUT", `/api/projects/${projectId}/provider-settings`, {
        default_provider: "byok",
        default_model_byok: "gpt-x",
      })
      const start = () => call("POST", "/api/runs", { project_id: projectId, task: "  Do it  " })
      const [one, two] = [yield* start(), yield* start()]
      expect(one).toMatchObject({ status: 201, body: { status: "pending", workflow_run_id: one.body.run_id } })
      expect(two.status).toBe(201)
      expect(two.body.run_id).not.toBe(one.body.run_id)
      expect(yield* service.runs.get(one.body.run_id)).toMatchObject({
        task: "Do it",
        projectId,
        submittedBy: "ada",
        repository: repository.path,
        originatingBranch: "main",
        modelSource: "byok",
        modelId: "gpt-x",
      })
    }),
  )

  it.effect("takes a repository without a project, for who asked alone", () =>
    Effect.gen(function* () {
      const { call, projectId } = yield* makeOrchestra(agentThat([]), idle)
      const other = yield* testRepository()
      const started = yield* call("POST", "/api/runs", { repository_path: other.path, task: "x" })
      expect(started.status).toBe(201)
      const { run_id } = started.body
      expect((yield* call("GET", `/api/runs/${run_id}`)).body).toMatchObject({ project_id: null })
      expect((yield* call("GET", `/api/runs/${run_id}`, undefined, "ben")).status).toBe(403)
      const both = yield* call("POST", "/api/runs", { project_id: projectId, repository_path: other.path, task: "x" })
      expect(both.body).toMatchObject({ error: "invalid_request", issues: [{ path: "body.repository_path" }] })
    }),
  )

  it.effect("keeps to the folders that are allowed, whatever leads out of them", () =>
    Effect.gen(function* () {
      const inside = yield* Effect.promise(temporaryFolder)
      const outside = yield* testRepository()
      symlinkSync(outside.path, join(inside, "link"))
      const { url } = yield* startService({ Runs: { Workers: 0, AllowedRepositoryRoots: [inside] } })
      const call = callerOf(url)
      for (const path of [outside.path, join(inside, "link"), `${inside}/../${outside.path.split("/").at(-1)}`]) {
        const refused = yield* call("POST", "/api/runs", { repository_path: path, task: "x" })
        expect([refused.status, refused.body.message], path).toEqual([
          400,
          "repository_path is not in an allowed folder.",
        ])
      }
      const noRepository = yield* call("POST", "/api/runs", { repository_path: inside, task: "x" })
      expect(noRepository.status).toBe(400)
    }),
  )
})
