import { expect, layer } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Projects } from "#core/project/projects.ts"
import { RoleAssignments } from "#core/project/role-assignments.ts"
import { Runs } from "#core/run/runs.ts"
import { Sql } from "#core/sql.ts"
import type { Folders } from "#test/fakes/repository.ts"
import { anotherReplica, coreServices } from "#test/support/core-services.ts"

const disk: Folders = new Map([["/srv/one", {}]])

const spec = {
  name: "one",
  origin: "blank",
  workingDirectory: "/srv/one",
  selectionCode: null,
  defaultProvider: "hosted",
  defaultModelHosted: null,
  defaultModelByok: null,
  blueprint: null,
  generatedWorkflowYaml: null,
} as const

const create = Effect.flatMap(Projects, (projects) => projects.create(spec, "ada"))
const runIn = (projectId: string) => ({ projectId, submittedBy: "rob", agentName: "Writer", task: "t" })

layer(coreServices({}, disk), { excludeTestServices: true, timeout: "60 seconds" })("a project", (it) => {
  it.effect("that was being deleted when the service stopped is finished at the next start", () =>
    Effect.gen(function* () {
      const sql = yield* Sql
      const runs = yield* Runs
      const projects = yield* Projects
      const { projectId } = yield* create
      const { runId } = yield* runs.create(runIn(projectId))
      yield* sql`update projects set state = 'deleting' where project_id = ${projectId}`

      expect((yield* projects.get(projectId)).state).toBe("deleting")
      expect(yield* Effect.flip(projects.rename(projectId, "two"))).toMatchObject({ code: "project_deleting" })
      expect(yield* Effect.flip(runs.create(runIn(projectId)))).toMatchObject({ code: "project_deleting" })

      yield* projects.finishDeletes
      expect(yield* Effect.flip(projects.get(projectId))).toMatchObject({ code: "project_not_found" })
      expect((yield* runs.get(runId)).status).toBe("cancelled")
      const events = yield* (yield* EventLog).read(runId)
      expect(events.at(-1)).toMatchObject({ type: "run.cancelled" })
      expect(JSON.parse(events.at(-1)?.payload ?? "")).toMatchObject({ reason: "project_deleted" })
    }),
  )

  it.effect("leaves no run active when one is started while it is deleted", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const there = yield* anotherReplica({}, disk)
      for (let round = 0; round < 25; round++) {
        const { projectId } = yield* create
        const [, started] = yield* Effect.all(
          [there.projects.remove(projectId, "ada"), Effect.exit(runs.create(runIn(projectId)))],
          { concurrency: 2 },
        )
        if (Exit.isSuccess(started)) expect((yield* runs.get(started.value.runId)).status).toBe("cancelled")
      }
    }),
  )

  it.effect("that is deleted by two at once is deleted", () =>
    Effect.gen(function* () {
      const here = yield* Projects
      const there = (yield* anotherReplica({}, disk)).projects
      const { projectId } = yield* create
      yield* (yield* Runs).create(runIn(projectId))
      const remove = (projects: typeof here) => Effect.exit(projects.remove(projectId, "ada"))
      const exits = yield* Effect.forEach([here, there], remove, { concurrency: 2 })
      expect(exits.some(Exit.isSuccess)).toBe(true)
      expect(yield* Effect.flip(here.get(projectId))).toMatchObject({ code: "project_not_found" })
    }),
  )

  it.effect("keeps an owner when its two owners are removed at once", () =>
    Effect.gen(function* () {
      const here = yield* RoleAssignments
      const there = (yield* anotherReplica({}, disk)).roles
      for (let round = 0; round < 25; round++) {
        const { projectId } = yield* create
        yield* here.assign(projectId, { principalId: "eve", role: "owner", displayName: null, email: null })
        const [one, two] = yield* here.list(projectId)
        const exits = yield* Effect.all(
          [
            Effect.exit(here.remove(projectId, one?.assignmentId ?? "")),
            Effect.exit(there.remove(projectId, two?.assignmentId ?? "")),
          ],
          { concurrency: 2 },
        )
        expect(exits.filter(Exit.isSuccess)).toHaveLength(1)
        expect(yield* here.list(projectId)).toHaveLength(1)
      }
    }),
  )
})
