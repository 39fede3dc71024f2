/** Projects and their roles: shapes, statuses, who may, and what a second call answers. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { accessRoutes } from "#core/project/access-routes.ts"
import { projectRoutes } from "#core/project/routes.ts"
import { controlRoutes } from "#core/run/control-routes.ts"
import { runRoutes } from "#core/run/routes.ts"
import { coordinatorAgent } from "#core/run/run.ts"
import { Runs } from "#core/run/runs.ts"
import { retryRoutes } from "#runtime/runs/routes/retry.ts"
import { reviewRoutes } from "#runtime/runs/routes/review.ts"
import type { Folders } from "#test/fakes/repository.ts"
import { callRoute } from "#test/support/call-route.ts"
import { coreServices } from "#test/support/core-services.ts"

const disk: Folders = new Map([
  ["/srv/one", { defaultBranch: "trunk" }],
  ["/srv/plain", { isRepository: false }],
  ["/srv/detached", { defaultBranch: null }],
  ["/elsewhere/one", {}],
  ["/srv/escape", { realPath: "/elsewhere/one" }],
])

const routes = Effect.flatMap(
  Effect.all([projectRoutes, accessRoutes, runRoutes, retryRoutes, reviewRoutes, controlRoutes]),
  (all) => callRoute(all.flat()),
)

const blank = { name: "one", origin: "blank", working_directory: "/srv/one" }

/** A project of `ada`, with `rob` as contributor and `vic` as viewer. */
const project = Effect.gen(function* () {
  const call = yield* routes
  const { body } = yield* call("POST", "/api/projects", { body: blank })
  const path = `/api/projects/${body.project_id}`
  for (const [principal_id, role] of [
    ["rob", "contributor"],
    ["vic", "VIEWER"],
  ]) {
    yield* call("POST", `${path}/role-assignments`, { body: { principal_id, role } })
  }
  return { call, path, id: body.project_id as string } // the answer was checked against its schema
})

const services = coreServices({ Runs: { AllowedRepositoryRoots: ["/srv"] } }, disk)

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("projects over HTTP", (it) => {
  it.effect("create: 201 with every field; whoever creates it is its owner", () =>
    Effect.gen(function* () {
      const call = yield* routes
      const blueprint = { id: "b1", workflows: ["delivery"], roster: ["writer"] }
      const { status, body } = yield* call("POST", "/api/projects", { body: { ...blank, name: " one ", blueprint } })
      expect(status).toBe(201)
      expect(body).toMatchObject({
        name: "one",
        origin: "blank",
        source_repository: null,
        working_directory: "/srv/one",
        default_branch: "trunk",
        owner: "ada",
        default_provider: "hosted",
        default_model_hosted: null,
        available: true,
        state: "active",
        source_blueprint_id: "b1",
        source_blueprint_type: "inline",
        allowed_workflow_ids: ["delivery"],
        preview_approval_timeout_minutes: 1440,
      })
      expect((yield* call("GET", `/api/projects/${body.project_id}`)).body).toEqual(body)
    }),
  )

  it.effect("create: says what is wrong, in the words of the interface", () =>
    Effect.gen(function* () {
      const call = yield* routes
      const said = (more: object) =>
        Effect.map(call("POST", "/api/projects", { body: { ...blank, ...more } }), (a) => [a.status, a.body.message])
      expect(yield* said({ name: "" })).toEqual([400, "name is required."])
      expect(yield* said({ working_directory: "/srv/none" })).toEqual([400, "Repository path does not exist."])
      expect(yield* said({ working_directory: "/srv/plain" })).toEqual([
        400,
        "working_directory is not the top folder of a git repository.",
      ])
      for (const working_directory of ["/elsewhere/one", "/srv/escape"]) {
        expect(yield* said({ working_directory })).toEqual([400, "working_directory is not in an allowed folder."])
      }
      expect(yield* said({ blueprint_id: "nope" })).toEqual([400, "No predefined blueprint with id 'nope'."])
      expect(
        (yield* call("POST", "/api/projects", { body: { ...blank, blueprint: { roster: 1 } } })).body,
      ).toMatchObject({ error: "invalid_blueprint", details: [expect.stringContaining("roster")] })
      const remote = { origin: "remote", repository_selection_code: "a".repeat(43) }
      expect((yield* call("POST", "/api/projects", { body: { ...blank, ...remote } })).status).toBe(501)
    }),
  )

  it.effect("a repository without a branch is taken with HEAD", () =>
    Effect.gen(function* () {
      const call = yield* routes
      const { body } = yield* call("POST", "/api/projects", { body: { ...blank, working_directory: "/srv/detached" } })
      expect(body.default_branch).toBe("HEAD")
    }),
  )

  it.effect("is not available once its folder is gone, and is again when it is back", () =>
    Effect.gen(function* () {
      const { call, path } = yield* project
      const folder = disk.get("/srv/one")
      disk.delete("/srv/one")
      expect((yield* call("GET", path)).body.available).toBe(false)
      disk.set("/srv/one", folder ?? {})
      expect((yield* call("GET", path)).body.available).toBe(true)
    }),
  )

  it.effect("lists only what the caller has a role in; a bare array, or pages where asked for", () =>
    Effect.gen(function* () {
      const call = yield* routes
      const create = (name: string) => call("POST", "/api/projects", { as: "liz", body: { ...blank, name } })
      for (const name of ["a", "b", "c"]) yield* create(name)
      const all = yield* call("GET", "/api/projects", { as: "liz" })
      expect(all.body.map((one: { name: string }) => one.name).sort()).toEqual(["a", "b", "c"])
      expect((yield* call("GET", "/api/projects", { as: "admin" })).body).toEqual([])
      const paged = yield* call("GET", "/api/projects?page=2&page_size=2", { as: "liz" })
      expect(paged.body).toMatchObject({ page: 2, page_size: 2, total_count: 3, total_pages: 2 })
      expect(paged.body.items).toHaveLength(1)
      expect((yield* call("GET", "/api/projects?page=0", { as: "liz" })).status).toBe(400)
    }),
  )

  it.effect("rename, twice: 204; an empty name 400", () =>
    Effect.gen(function* () {
      const { call, path } = yield* project
      for (const _ of [1, 2]) expect((yield* call("PATCH", path, { body: { name: "two" } })).status).toBe(204)
      expect((yield* call("GET", path)).body.name).toBe("two")
      expect(yield* call("PATCH", path, { body: {} })).toMatchObject({
        status: 400,
        body: { message: "name is required." },
      })
    }),
  )

  it.effect("provider settings, twice: 204; what is absent goes back to the default", () =>
    Effect.gen(function* () {
      const { call, path } = yield* project
      const put = (body: object) => Effect.map(call("PUT", `${path}/provider-settings`, { body }), (a) => a.status)
      const settings = { default_provider: "byok", default_model_byok: "o9", workflow_generation_model: "o8" }
      for (const _ of [1, 2]) expect(yield* put(settings)).toBe(204)
      expect((yield* call("GET", path)).body).toMatchObject({ ...settings, default_model_hosted: null })
      expect(yield* put({ default_provider: "hosted" })).toBe(204)
      expect((yield* call("GET", path)).body).toMatchObject({ default_provider: "hosted", default_model_byok: null })
      expect(yield* put({ default_provider: "other" })).toBe(400)
      expect(yield* put({})).toBe(400)
    }),
  )

  it.effect("preview settings, twice: 200; out of bounds 400", () =>
    Effect.gen(function* () {
      const { call, path } = yield* project
      const settings = { approval_timeout_minutes: 1, lifetime_minutes: 1440, dns_convergence_timeout_seconds: 60 }
      const put = (body: object) => call("PUT", `${path}/preview-settings`, { body })
      for (const _ of [1, 2]) expect(yield* put(settings)).toEqual({ status: 200, body: settings })
      expect((yield* call("GET", path)).body).toMatchObject({
        preview_approval_timeout_minutes: 1,
        preview_lifetime_minutes: 1440,
        preview_dns_convergence_timeout_seconds: 60,
      })
      for (const wrong of [
        { ...settings, approval_timeout_minutes: 0 },
        { ...settings, lifetime_minutes: 1441 },
        { ...settings, dns_convergence_timeout_seconds: 59 },
        { ...settings, lifetime_minutes: 1.5 },
        {},
      ]) {
        expect((yield* put(wrong)).status).toBe(400)
      }
    }),
  )

  it.effect("delete: wants to be confirmed, cancels what is active, and is gone", () =>
    Effect.gen(function* () {
      const { call, path, id } = yield* project
      const runs = yield* Runs
      const run = yield* runs.create({ projectId: id, submittedBy: "rob", agentName: "Writer", task: "t" })
      for (const query of ["", "?confirm=false", "?confirm=1"]) {
        expect(yield* call("DELETE", path + query)).toMatchObject({
          status: 400,
          body: { message: "confirm=true query parameter is required for delete." },
        })
      }
      expect((yield* call("DELETE", `${path}?confirm=true`)).status).toBe(204)
      expect((yield* call("DELETE", `${path}?confirm=true`)).status).toBe(404)
      expect(yield* runs.get(run.runId)).toMatchObject({ status: "cancelled", projectId: null })
    }),
  )

  it.effect("runs: summaries without children, filtered and paged as asked", () =>
    Effect.gen(function* () {
      const { call, path, id } = yield* project
      const runs = yield* Runs
      const spec = { projectId: id, submittedBy: "rob", agentName: "Writer", task: "t" }
      const parent = yield* runs.create({ ...spec, agentName: coordinatorAgent })
      const child = yield* runs.create({ ...spec, parentRunId: parent.runId })
      const ended = yield* runs.create(spec)
      yield* runs.cancel(ended.runId, { reason: "cancelled", by: "ada" })
      const ids = (query: string) =>
        Effect.map(call("GET", `${path}/runs${query}`), ({ body }) =>
          body.map((run: { execution_id: string }) => run.execution_id),
        )
      expect(yield* ids("")).toEqual([ended.runId, parent.runId])
      expect(yield* ids("?include_children=true")).toContain(child.runId)
      expect(yield* ids("?terminal_only=true")).toEqual([ended.runId])
      expect(yield* ids(`?agent=${coordinatorAgent}`)).toEqual([parent.runId])
      expect(yield* ids("?limit=1")).toEqual([ended.runId])
      expect((yield* call("GET", `${path}/runs?page=1&page_size=1`)).body).toMatchObject({
        items: [{ workflow_run_id: ended.runId, status: "failed", result: "cancelled", coordinator_status: null }],
        total_count: 2,
      })
      for (const query of ["?limit=101", "?limit=0", "?terminal_only=yes", "?agent=", "?other=1"]) {
        expect((yield* call("GET", `${path}/runs${query}`)).status).toBe(400)
      }
      expect(yield* call("POST", `${path}/runs`, { body: {} })).toMatchObject({ status: 410, body: { error: "gone" } })
    }),
  )

  it.effect("roles: any case is read; given twice 201 then 200; a stranger's id is 404", () =>
    Effect.gen(function* () {
      const { call, path } = yield* project
      const body = { principal_id: "eve", role: "OWNER", display_name: "Eve", email: "eve@example.org" }
      const first = yield* call("POST", `${path}/role-assignments`, { body })
      expect(first).toMatchObject({ status: 201, body: { role: "Owner", scope: "project", display_name: "Eve" } })
      expect(yield* call("POST", `${path}/role-assignments`, { body })).toEqual({ ...first, status: 200 })
      const one = `${path}/role-assignments/${first.body.assignment_id}`
      expect((yield* call("DELETE", one)).status).toBe(204)
      expect((yield* call("DELETE", one)).status).toBe(404)
      expect((yield* call("DELETE", `${path}/role-assignments/nope`)).status).toBe(404)
      for (const wrong of [
        {},
        { principal_id: "x" },
        { principal_id: " ", role: "Owner" },
        { principal_id: "x", role: "god" },
      ]) {
        expect((yield* call("POST", `${path}/role-assignments`, { body: wrong })).status).toBe(400)
      }
    }),
  )

  it.effect("the last owner cannot be removed, nor made less", () =>
    Effect.gen(function* () {
      const { call, path } = yield* project
      const { body } = yield* call("GET", `${path}/access`)
      const owner = body.project_role_assignments.find((one: { principal_id: string }) => one.principal_id === "ada")
      const refused = { status: 409, body: { error: "last_owner" } }
      expect(yield* call("DELETE", `${path}/role-assignments/${owner.assignment_id}`)).toMatchObject(refused)
      const less = { principal_id: "ada", role: "Viewer" }
      expect(yield* call("POST", `${path}/role-assignments`, { body: less })).toMatchObject(refused)
      expect((yield* call("GET", `${path}/access`)).body).toEqual(body)
    }),
  )

  it.effect("access: the caller's own role and everybody's", () =>
    Effect.gen(function* () {
      const { call, path } = yield* project
      const { body } = yield* call("GET", `${path}/access`, { as: "vic" })
      expect(body).toMatchObject({
        auth_mode: "api-key",
        platform_roles: [],
        current_user_project_role: "Viewer",
        can_manage_role_assignments: false,
      })
      expect(body.project_role_assignments.map((one: { role: string }) => one.role)).toEqual([
        "Owner",
        "Contributor",
        "Viewer",
      ])
    }),
  )

  it.effect("each role may do what it may, and nobody else anything", () =>
    Effect.gen(function* () {
      const { call, path, id } = yield* project
      const { runId } = yield* (yield* Runs).create({ projectId: id, submittedBy: "eve", agentName: null, task: "t" })
      const statuses = (method: "GET" | "POST" | "PATCH", target: string, body?: object) =>
        Effect.forEach(["ada", "rob", "vic", "eve", "admin", "svc-internal", null], (as) =>
          Effect.map(call(method, target, { as, ...(body === undefined ? {} : { body }) }), (a) => a.status),
        )
      expect(yield* statuses("GET", path)).toEqual([200, 200, 200, 403, 403, 403, 401])
      expect(yield* statuses("GET", `/api/runs/${runId}`)).toEqual([200, 200, 200, 403, 403, 403, 401])
      expect(yield* statuses("POST", `/api/runs/${runId}/archive`)).toEqual([200, 200, 403, 403, 403, 403, 401])
      expect(yield* statuses("PATCH", path, { name: "x" })).toEqual([204, 403, 403, 403, 403, 403, 401])
    }),
  )

  it.effect("a run without a project is its submitter's; a platform administrator may delete it and nothing else", () =>
    Effect.gen(function* () {
      const call = yield* routes
      const { runId } = yield* (yield* Runs).create({ projectId: null, submittedBy: "eve", agentName: null, task: "t" })
      const target = `/api/runs/${runId}`
      expect((yield* call("GET", target, { as: "eve" })).status).toBe(200)
      expect((yield* call("GET", target, { as: "ada" })).status).toBe(403)
      expect((yield* call("DELETE", target, { as: "ada" })).status).toBe(403)
      expect((yield* call("GET", target, { as: "admin" })).status).toBe(403)
      expect((yield* call("DELETE", target, { as: "admin" })).status).toBe(204)
    }),
  )

  it.effect("ids that are none are 400, ids of nothing 404, strangers 401 first", () =>
    Effect.gen(function* () {
      const call = yield* routes
      const unknown = crypto.randomUUID()
      for (const kind of ["runs", "projects"]) {
        expect((yield* call("GET", `/api/${kind}/nope`)).status).toBe(400)
        expect((yield* call("GET", `/api/${kind}/${unknown}`)).status).toBe(404)
        expect((yield* call("GET", `/api/${kind}/nope`, { as: null })).status).toBe(401)
      }
    }),
  )
})
