/**
 * Who has which role in a project. One role for each principal; a project keeps at least one owner,
 * also where two owners are removed at once.
 */
import { Context, Effect, Layer } from "effect"
import type { Role } from "#core/auth/role.ts"
import { newId } from "#core/ids.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"

export interface RoleAssignment {
  readonly assignmentId: string
  readonly principalId: string
  readonly displayName: string | null
  readonly email: string | null
  readonly role: Role
}

export interface Assign {
  readonly principalId: string
  readonly role: Role
  readonly displayName: string | null
  readonly email: string | null
}

type Answer<A> = Effect.Effect<A, Refusal | DatabaseUnavailable>

export class RoleAssignments extends Context.Service<
  RoleAssignments,
  {
    readonly list: (projectId: string) => Effect.Effect<ReadonlyArray<RoleAssignment>, DatabaseUnavailable>
    /** Gives the principal this role, in place of the one it may have. `created: false`: it had one. */
    readonly assign: (
      projectId: string,
      assign: Assign,
    ) => Answer<{ readonly assignment: RoleAssignment; readonly created: boolean }>
    readonly remove: (projectId: string, assignmentId: string) => Answer<void>
  }
>()("core/RoleAssignments") {
  static readonly layer = Layer.effect(
    RoleAssignments,
    Effect.gen(function* () {
      const sql = yield* Sql
      const all = sql.fragment`
        assignment_id as "assignmentId", principal_id as "principalId", display_name as "displayName", email, role`

      /** The project's row, held: changes of one project's roles come one after the other. */
      const hold = Effect.fnUntraced(function* (projectId: string) {
        const held = yield* sql`select from projects where project_id = ${projectId} for no key update`
        if (held.length === 0) return yield* refuse("project_not_found")
      })

      const keepAnOwner = Effect.fnUntraced(function* (projectId: string) {
        const [owner] = yield* sql`select from project_roles where project_id = ${projectId} and role = 'owner' limit 1`
        if (owner === undefined) return yield* refuse("last_owner")
      })

      return RoleAssignments.of({
        list: (projectId) => sql<RoleAssignment>`
          select ${all} from project_roles where project_id = ${projectId} order by created_at, assignment_id`,
        assign: Effect.fn("RoleAssignments.assign")(
          function* (projectId: string, { principalId, role, displayName, email }: Assign) {
            yield* hold(projectId)
            const before = yield* sql`
              select from project_roles where project_id = ${projectId} and principal_id = ${principalId}`
            const [assignment] = yield* sql<RoleAssignment>`
              insert into project_roles (assignment_id, project_id, principal_id, role, display_name, email)
              values (${newId()}, ${projectId}, ${principalId}, ${role}, ${displayName}, ${email})
              on conflict (project_id, principal_id) do update
                set role = excluded.role, email = coalesce(excluded.email, project_roles.email),
                    display_name = coalesce(excluded.display_name, project_roles.display_name)
              returning ${all}`
            yield* keepAnOwner(projectId)
            if (assignment === undefined) return yield* Effect.die("an insert gave no row")
            return { assignment, created: before.length === 0 }
          },
          (effect) => sql.transaction(effect),
        ),
        remove: Effect.fn("RoleAssignments.remove")(
          function* (projectId: string, assignmentId: string) {
            yield* hold(projectId)
            const gone = yield* sql`
              delete from project_roles where project_id = ${projectId} and assignment_id = ${assignmentId}
              returning assignment_id`
            if (gone.length === 0) return yield* refuse("not_found", { message: "There is no such assignment." })
            yield* keepAnOwner(projectId)
          },
          (effect) => sql.transaction(effect),
        ),
      })
    }),
  )
}
