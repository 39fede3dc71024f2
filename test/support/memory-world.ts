/** A project of `ada` (owner), `rob` (contributor) and `vic` (viewer), with runs whose agents call back by capability. */
import { mkdtemp, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { makeRunCapabilities, runCapabilities } from "#core/auth/run-capability.ts"
import type { Plugin } from "#core/plugin.ts"
import { Projects } from "#core/project/projects.ts"
import { RoleAssignments } from "#core/project/role-assignments.ts"
import type { Method } from "#core/route.ts"
import type { NewRun } from "#core/run/new-run.ts"
import { Runs } from "#core/run/runs.ts"
import { Sql } from "#core/sql.ts"
import type { Folders } from "#test/fakes/repository.ts"
import { type Call, callRoute } from "#test/support/call-route.ts"
import { hostOf } from "#test/support/plugin-host.ts"

export const folders: Folders = new Map()

export const temporaryRepository = Effect.acquireRelease(
  Effect.promise(async () => realpath(await mkdtemp(join(tmpdir(), "svc-memory-")))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true })),
)

export const makeProject = Effect.gen(function* () {
  const folder = yield* temporaryRepository
  folders.set(folder, {})
  const { projectId } = yield* (yield* Projects).create(
    {
      name: "one",
      origin: "blank",
      workingDirectory: folder,
      selectionCode: null,
      defaultProvider: "hosted",
      defaultModelHosted: null,
      defaultModelByok: null,
      blueprint: null,
      generatedWorkflowYaml: null,
    },
    "ada",
  )
  const roles = yield* RoleAssignments
  for (const [principalId, role] of [
    ["rob", "contributor"],
    ["vic", "viewer"],
  ] as const) {
    yield* roles.assign(projectId, { principalId, role, displayName: null, email: null })
  }
  return { projectId, folder }
})

/** The plugins are running; `call` speaks to their routes, in the project that is given. */
export const memoryWorld = Effect.fnUntraced(function* (plugins: ReadonlyArray<Plugin>) {
  const sql = yield* Sql
  const runs = yield* Runs
  const host = yield* hostOf(plugins.map((plugin) => ({ plugin, source: { kind: "built-in" } })))
  const routes = yield* host.routes
  const anywhere = yield* callRoute(routes, (byName) => [runCapabilities(sql, byName)])
  const { projectId, folder } = yield* makeProject
  const capabilities = makeRunCapabilities(sql)
  const at = (path: string) => (path.startsWith("/api/") ? path : `/api/projects/${projectId}${path}`)
  const call = (method: Method, path: string, options?: Call) => anywhere(method, at(path), options)
  const newRun = (agentName: string | null, more: Partial<NewRun> = {}) =>
    runs.create({ projectId, submittedBy: "ada", agentName, task: "t", ...more })
  /** A run of the project, and calls of its agent. */
  const agent = Effect.fnUntraced(function* (agentName: string | null, more: Partial<NewRun> = {}) {
    const run = yield* newRun(agentName, more)
    const token = yield* capabilities.issue(run.runId)
    const as = { as: "svc-internal", headers: { "svc-run-capability": token } }
    return { run, token, call: (method: Method, path: string, body?: unknown) => call(method, path, { ...as, body }) }
  })
  return { sql, runs, host, routes, projectId, folder, call, agent, newRun, capabilities }
})
