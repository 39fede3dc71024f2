/**
 * May this caller use this route? Decided from the route's access and the stored record alone, before
 * the input is looked at. The order is fixed: who (401), the form of the id (400), whether the run or
 * project is there (404), the role (403). Where existence is hidden, the last three are one 404.
 */
import { Effect } from "effect"
import type { Access as AccessService } from "#core/auth/access.ts"
import type { Caller } from "#core/auth/caller.ts"
import { allows, type Role } from "#core/auth/role.ts"
import { isId, runIdOf } from "#core/ids.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import type { Access } from "#core/route.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"

type Authorization = Effect.Effect<void, Refusal | DatabaseUnavailable>

/** Puts the ids that access depends on into their one spelling, lower case. */
export const withCanonicalId = (access: Access, parameters: Record<string, string>): Record<string, string> => {
  if (!("param" in access)) return parameters
  return { ...parameters, [access.param]: (parameters[access.param] ?? "").toLowerCase() }
}

/** `parameters` as `withCanonicalId` gives them. */
export const authorize = (
  access: Access,
  caller: Caller,
  parameters: Record<string, string>,
  records: AccessService["Service"],
): Authorization => {
  if (access.kind === "public") return Effect.void
  if (caller.kind === "anonymous") return refuse("unauthorized")
  if (caller.kind === "internal" && !(access.kind === "run" && access.internal)) return refuse("forbidden")
  if (caller.kind === "run") return ofRun(access, caller, parameters)
  switch (access.kind) {
    case "authenticated":
      return Effect.void
    case "human":
      return caller.kind === "user" && caller.via === "session" ? Effect.void : refuse("human_entra_subject_required")
    case "platform-admin":
      return caller.kind === "user" && caller.platformAdmin ? Effect.void : refuse("forbidden")
    case "project":
      return project(access.role, caller, parameters[access.param] ?? "", records)
    case "run":
      return run(access, caller, parameters[access.param] ?? "", records)
    case "run-capability":
      return refuse("forbidden", { message: "Only the agent of a run may do this, with the capability of its run." })
  }
}

/** An agent reaches the project of its run, and what is in it as far as routes let agents in. */
const ofRun = (
  access: Access,
  caller: Extract<Caller, { kind: "run" }>,
  parameters: Record<string, string>,
): Authorization => {
  const letIn =
    access.kind === "run-capability" ||
    (access.kind === "project" && (access.runs === "any" || (access.runs === "coordinator" && caller.coordinator)))
  if (!letIn) return refuse("forbidden")
  const projectId = parameters[access.param] ?? ""
  if (!isId(projectId)) return refuse("invalid_project_id")
  return projectId === caller.projectId ? Effect.void : refuse("forbidden")
}

const project = Effect.fnUntraced(function* (
  needed: Role,
  caller: Caller,
  projectId: string,
  records: AccessService["Service"],
) {
  if (!isId(projectId)) return yield* refuse("invalid_project_id")
  const found = yield* records.project(projectId, caller)
  if (!found.exists) return yield* refuse("project_not_found")
  if (found.role === null || !allows(found.role, needed)) return yield* refuse("forbidden")
})

const run = Effect.fnUntraced(function* (
  access: Extract<Access, { kind: "run" }>,
  caller: Caller,
  id: string,
  records: AccessService["Service"],
) {
  const runId = access.subStreams ? runIdOf(id) : isId(id) ? id : undefined
  if (runId === undefined) return yield* refuse(access.hidesExistence ? "run_not_found" : "invalid_run_id")
  const found = yield* records.run(runId, caller)
  if (!found.exists) return yield* refuse("run_not_found")
  if (caller.kind === "internal") return
  if (access.platformAdmin && caller.kind === "user" && caller.platformAdmin) return
  if (found.role === null && access.hidesExistence) return yield* refuse("run_not_found")
  if (found.role === null || !allows(found.role, access.role)) return yield* refuse("forbidden")
})
