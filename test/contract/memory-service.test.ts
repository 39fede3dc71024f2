/** The memory of a service as it is started: its plugins run, and agents call back over real HTTP. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeRunCapabilities } from "#core/auth/run-capability.ts"
import { testDatabase } from "#test/support/database.ts"
import { temporaryRepository } from "#test/support/memory-world.ts"
import { startService, users } from "#test/support/service.ts"

const internalKey = "internal-key-0123456789"

layer(testDatabase, { excludeTestServices: true, timeout: "60 seconds" })("a started service", (it) => {
  it.effect("lets the agent of a run write to its project's memory, by the internal key and the run's capability", () =>
    Effect.gen(function* () {
      const { url, runs, sql } = yield* startService({ Auth: { InternalKey: internalKey } })
      const folder = yield* temporaryRepository
      const ask = (method: string, path: string, headers: Record<string, string>, body?: object) =>
        Effect.promise(async () => {
          const json = body === undefined ? {} : { "content-type": "application/json" }
          const sent = body === undefined ? {} : { body: JSON.stringify(body) }
          const response = await fetch(`${url}${path}`, { method, headers: { ...headers, ...json }, ...sent })
          const text = await response.text()
          return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
        })
      const projectId = crypto.randomUUID()
      yield* sql`
        insert into projects (project_id, name, origin, working_directory, default_branch, owner, default_provider)
        values (${projectId}, 'one', 'blank', ${folder}, 'main', 'ada', 'hosted')`
      yield* sql`
        insert into project_roles (assignment_id, project_id, principal_id, role)
        values (${crypto.randomUUID()}, ${projectId}, 'ada', 'owner')`
      const run = yield* runs.create({ projectId, submittedBy: "ada", agentName: "Ripley", task: "t" })
      const token = yield* makeRunCapabilities(sql).issue(run.runId)
      const agent = { authorization: `Bearer ${internalKey}`, "svc-run-capability": token }
      const memory = `/api/projects/${projectId}/agents/Ripley/memory`
      const note = { type: "learning", content: "kept" }
      expect(yield* ask("POST", memory, agent, note)).toMatchObject({ status: 201, body: { sourceRunId: run.runId } })
      expect((yield* ask("POST", memory, { authorization: agent.authorization }, note)).status).toBe(403)
      expect((yield* ask("POST", memory, { ...agent, authorization: `Bearer ${users.ada}` }, note)).status).toBe(401)
      expect((yield* ask("GET", `/api/runs/${run.runId}`, agent)).status).toBe(403)
      const ada = { authorization: `Bearer ${users.ada}` }
      expect((yield* ask("GET", memory, ada)).body).toHaveLength(1)
      const messages = `/api/projects/${projectId}/agent-messages`
      expect((yield* ask("POST", `${messages}/claim`, agent, { owner: "o" })).status).toBe(204)
      expect((yield* ask("GET", messages, ada)).body).toEqual([])
    }),
  )
})
