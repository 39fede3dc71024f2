/** Who may do what in a project, over HTTP. */
import { Effect, Schema } from "effect"
import type { Caller } from "#core/auth/caller.ts"
import { subjectOf } from "#core/auth/caller.ts"
import { roles } from "#core/auth/role.ts"
import { isId } from "#core/ids.ts"
import { AssignmentAnswer, assignmentAnswer, WireRole, wireRole } from "#core/project/answers.ts"
import { RoleAssignments } from "#core/project/role-assignments.ts"
import { refuse, refuseInput } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"

const tag = "Access"

type Nothing = Record<never, never>
interface ById {
  readonly id: string
}

const text = Schema.NullOr(Schema.String)
const optionalText = Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(256))))

const AccessAnswer = Schema.Struct({
  /** How the caller signed in: `api-key`, `session` or `broker`. */
  auth_mode: Schema.String,
  platform_roles: Schema.Array(Schema.String),
  platform_roles_source: text,
  current_user_project_role: Schema.NullOr(WireRole),
  can_manage_role_assignments: Schema.Boolean,
  can_manage_project_scm_identity: Schema.Boolean,
  project_role_assignments: Schema.Array(AssignmentAnswer),
  effective_scm_login: text,
})

const AssignBody = Schema.Struct({
  principal_id: optionalText,
  /** `Viewer`, `Contributor` or `Owner`, in any case. */
  role: optionalText,
  display_name: optionalText,
  email: optionalText,
})

const authMode = (caller: Caller): string => (caller.kind === "user" ? caller.via : caller.kind)
const isPlatformAdmin = (caller: Caller): boolean => caller.kind === "user" && caller.platformAdmin

export const accessRoutes: Effect.Effect<ReadonlyArray<Route>, never, RoleAssignments> = Effect.gen(function* () {
  const assignments = yield* RoleAssignments
  const owner = access.project("owner")
  return [
    route<ById, Nothing, undefined, typeof AccessAnswer.Type>({
      method: "GET",
      path: "/api/projects/{id}/access",
      access: access.project("viewer"),
      summary: "The roles in the project, and the caller's own",
      tag,
      answer: AccessAnswer,
      handle: Effect.fn("access.get")(function* ({ params, caller }) {
        const all = yield* assignments.list(params.id)
        const own = all.find((assignment) => assignment.principalId === subjectOf(caller))?.role ?? null
        const platform = isPlatformAdmin(caller)
        return {
          auth_mode: authMode(caller),
          platform_roles: platform ? ["Administrator"] : [],
          platform_roles_source: platform ? "configuration" : null,
          current_user_project_role: own === null ? null : wireRole(own),
          can_manage_role_assignments: own === "owner",
          can_manage_project_scm_identity: own === "owner",
          project_role_assignments: all.map(assignmentAnswer),
          effective_scm_login: null,
        }
      }),
    }),
    route<ById, Nothing, typeof AssignBody.Type, typeof AssignmentAnswer.Type>({
      method: "POST",
      path: "/api/projects/{id}/role-assignments",
      access: owner,
      summary: "Give a principal a role, in place of the one it may have",
      tag,
      body: AssignBody,
      answer: AssignmentAnswer,
      statuses: [201, 200],
      handle: Effect.fn("access.assign")(function* ({ params, body }) {
        const principalId = body.principal_id?.trim() ?? ""
        const role = roles.find((known) => known === body.role?.trim().toLowerCase())
        const issues = [
          ...(principalId === "" ? [{ path: "body.principal_id", message: "principal_id is required." }] : []),
          ...(role === undefined ? [{ path: "body.role", message: "role must be Viewer, Contributor or Owner." }] : []),
        ]
        if (role === undefined || issues.length > 0) {
          return yield* refuseInput(issues, issues.map((issue) => issue.message).join(" "))
        }
        const { assignment, created } = yield* assignments.assign(params.id, {
          principalId,
          role,
          displayName: body.display_name ?? null,
          email: body.email ?? null,
        })
        return reply.json(created ? 201 : 200, assignmentAnswer(assignment))
      }),
    }),
    route<{ id: string; assignmentId: string }>({
      method: "DELETE",
      path: "/api/projects/{id}/role-assignments/{assignmentId}",
      access: owner,
      summary: "Take a role away; the last owner stays",
      tag,
      statuses: [204],
      handle: Effect.fn("access.remove")(function* ({ params }) {
        if (!isId(params.assignmentId)) return yield* refuse("not_found", { message: "There is no such assignment." })
        yield* assignments.remove(params.id, params.assignmentId)
        return reply.empty()
      }),
    }),
  ]
})
