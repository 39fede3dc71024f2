/**
 * `Access` from the stored rows. A run without a project belongs to whoever submitted it. Nothing here
 * knows names: a platform administrator holds no role by being one.
 *
 * Questions about runs that are asked at the same time share one query: every open stream asks again
 * and again whether its reader may still read.
 */
import { Effect, Exit, Layer, Request, RequestResolver } from "effect"
import { Access, type RunAccess } from "#core/auth/access.ts"
import type { Caller } from "#core/auth/caller.ts"
import type { Role } from "#core/auth/role.ts"
import { isId } from "#core/ids.ts"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"

const absent = { exists: false } as const

/** The subject that rows name. The internal identity holds no role anywhere. */
const subjectOf = (caller: Caller): string | null => (caller.kind === "user" ? caller.subject : null)

class RunQuestion extends Request.TaggedClass("RunQuestion")<
  { readonly runId: string; readonly subject: string | null },
  RunAccess,
  DatabaseUnavailable
> {}

interface RunRow {
  readonly asked: number
  readonly projectId: string | null
  readonly role: Role | null
}

export const accessLayer = Layer.effect(
  Access,
  Effect.gen(function* () {
    const sql = yield* Sql

    const runs = RequestResolver.make<RunQuestion>(
      Effect.fnUntraced(function* (entries) {
        const questions = entries.map((entry) => entry.request)
        const rows = yield* sql<RunRow>`
          select q.asked::int as asked, r.project_id as "projectId",
                 case when r.project_id is not null then a.role
                      when r.submitted_by = q.subject then 'owner' end as role
            from unnest(${questions.map((q) => q.runId)}::uuid[], ${questions.map((q) => q.subject)}::text[])
                 with ordinality as q(run_id, subject, asked)
            join runs r on r.run_id = q.run_id
            left join project_roles a on a.project_id = r.project_id and a.principal_id = q.subject`
        const found = new Map(rows.map((row) => [row.asked, row]))
        entries.forEach((entry, i) => {
          const row = found.get(i + 1)
          entry.completeUnsafe(
            Exit.succeed(row === undefined ? absent : { exists: true, projectId: row.projectId, role: row.role }),
          )
        })
      }),
    )

    return Access.of({
      run: (runId, caller) =>
        isId(runId)
          ? Effect.request(new RunQuestion({ runId, subject: subjectOf(caller) }), runs)
          : Effect.succeed(absent),
      project: Effect.fn("Access.project")(function* (projectId: string, caller: Caller) {
        if (!isId(projectId)) return absent
        const [row] = yield* sql<{ role: Role | null }>`
          select a.role
            from projects p
            left join project_roles a on a.project_id = p.project_id and a.principal_id = ${subjectOf(caller)}::text
           where p.project_id = ${projectId}`
        return row === undefined ? absent : { exists: true, role: row.role }
      }),
    })
  }),
)
