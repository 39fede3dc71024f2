import { mkdtemp, readFile, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Projects } from "#core/project/projects.ts"
import { RoleAssignments } from "#core/project/role-assignments.ts"
import { bodyOf, defaultPolicy } from "#core/sandbox-policy/policy.ts"
import { sandboxPolicy } from "#plugins/sandbox-policy/plugin.ts"
import type { Folders } from "#test/fakes/repository.ts"
import { callRoute } from "#test/support/call-route.ts"
import { coreServices } from "#test/support/core-services.ts"
import { hostOf } from "#test/support/plugin-host.ts"

const folders: Folders = new Map()
const path = "/api/sandbox-policy"

const repository = Effect.acquireRelease(
  Effect.promise(async () => realpath(await mkdtemp(join(tmpdir(), "svc-policy-")))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true })),
)

const setUp = Effect.gen(function* () {
  const folder = yield* repository
  folders.set(folder, {})
  const project = yield* (yield* Projects).create(
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
  yield* (yield* RoleAssignments).assign(project.projectId, {
    principalId: "vic",
    role: "viewer",
    displayName: null,
    email: null,
  })
  const host = yield* hostOf([{ plugin: sandboxPolicy, source: { kind: "built-in" } }])
  const call = yield* callRoute(yield* host.routes)
  const get = (as: string | null, at: string = folder) =>
    call("GET", `${path}?repository_path=${encodeURIComponent(at)}`, { as })
  const put = (as: string, change: object = {}) =>
    call("PUT", path, { as, body: { repository_path: folder, ...bodyOf(defaultPolicy), ...change } })
  return { folder, call, get, put }
})

layer(coreServices({}, folders), { excludeTestServices: true, timeout: "30 seconds" })("the sandbox policy", (it) => {
  it.effect("is the default until an owner sets it, and then what they set, whole", () =>
    Effect.gen(function* () {
      const { folder, get, put } = yield* setUp
      expect(yield* get("vic")).toEqual({ status: 200, body: { repository_path: folder, ...bodyOf(defaultPolicy) } })
      const set = yield* put("ada", { shell_enabled: false, max_output_bytes: 1_000 })
      expect(set.status).toBe(200)
      expect((yield* get("ada")).body).toEqual(set.body)
      expect(set.body).toMatchObject({ shell_enabled: false, max_output_bytes: 1_000 })
      expect(yield* Effect.promise(() => readFile(join(folder, ".svc/settings.yml"), "utf8"))).toContain("sandbox:")
      expect((yield* put("ada")).body).toMatchObject({ shell_enabled: true })
    }),
  )

  it.effect("is shown and set only to those who have the role, and exists for nobody else", () =>
    Effect.gen(function* () {
      const { get, put } = yield* setUp
      expect((yield* put("vic")).status).toBe(403)
      expect((yield* get(null)).status).toBe(401)
      const stranger = yield* get("eve")
      const nowhere = yield* get("ada", "/nowhere/at/all")
      expect(stranger.status).toBe(404)
      expect(stranger.body.message).toBe("repository_path is not a known project workspace.")
      expect(nowhere.body.message).toBe(stranger.body.message)
      expect((yield* put("eve")).status).toBe(404)
    }),
  )

  it.effect("is found by another spelling of the path, and never outside of a workspace", () =>
    Effect.gen(function* () {
      const { folder, get } = yield* setUp
      expect((yield* get("ada", `${folder}/./x/../`)).body.repository_path).toBe(folder)
      expect((yield* get("ada", `${folder}/sub`)).status).toBe(404)
      expect((yield* get("ada", `${folder}/..`)).status).toBe(404)
    }),
  )

  it.effect("needs a path that is absolute", () =>
    Effect.gen(function* () {
      const { call, get } = yield* setUp
      expect(yield* call("GET", path)).toMatchObject({ status: 400, body: { message: "repository_path is required." } })
      expect((yield* get("ada", "")).status).toBe(400)
      expect((yield* get("ada", "relative/path")).status).toBe(400)
      expect((yield* get("ada", "/a\0b")).status).toBe(400)
      expect((yield* call("PUT", path, { body: {} })).body.message).toBe("repository_path is required.")
    }),
  )

  it.effect("is refused with everything that is wrong with it", () =>
    Effect.gen(function* () {
      const { folder, call, put } = yield* setUp
      const { status, body } = yield* put("ada", { max_output_bytes: -1, shell_enabled: "yes" })
      expect({ status, error: body.error }).toEqual({ status: 400, error: "invalid_sandbox_policy" })
      expect(body.details.map((detail: string) => detail.split(":")[0]).sort()).toEqual([
        "max_output_bytes",
        "shell_enabled",
      ])
      const missing = yield* call("PUT", path, { body: { repository_path: folder } })
      expect(missing.body.details).toHaveLength(6)
    }),
  )

  it.effect("lets only a platform administrator give up isolation", () =>
    Effect.gen(function* () {
      const { put } = yield* setUp
      expect((yield* put("ada", { direct: true })).status).toBe(403)
      expect((yield* put("ada", { direct: false })).status).toBe(200)
    }),
  )
})
