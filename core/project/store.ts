/** The tables `projects` and, for the first owner, `project_roles`: every statement about a project's row. */
import { Effect } from "effect"
import { workflowsOf } from "#core/project/blueprint.ts"
import type { NewProject } from "#core/project/input.ts"
import type { PreviewSettings, Project, ProjectModels, Provider } from "#core/project/project.ts"
import type { Fragment, SqlShape } from "#core/sql.ts"

export const makeProjectStore = (sql: SqlShape) => {
  const all: Fragment = sql.fragment`
    project_id as "projectId", name, origin, source_repository as "sourceRepository",
    working_directory as "workingDirectory", default_branch as "defaultBranch", owner,
    default_provider as "defaultProvider", default_model_hosted as "defaultModelHosted",
    default_model_byok as "defaultModelByok", blueprint_generation_model as "blueprintGenerationModel",
    workflow_generation_model as "workflowGenerationModel",
    outcome_spec_generation_model as "outcomeSpecGenerationModel",
    preview_approval_timeout_minutes as "previewApprovalTimeoutMinutes",
    preview_lifetime_minutes as "previewLifetimeMinutes",
    preview_dns_convergence_timeout_seconds as "previewDnsConvergenceTimeoutSeconds",
    source_blueprint_id as "sourceBlueprintId", source_blueprint_type as "sourceBlueprintType",
    allowed_workflow_ids as "allowedWorkflowIds", state, created_at as "createdAt", updated_at as "updatedAt"`

  const visibleTo = (principal: string): Fragment =>
    sql.fragment`exists (select from project_roles a where a.project_id = p.project_id and a.principal_id = ${principal})`

  /** The column as it is where the value is undefined. */
  const kept = (column: Fragment, value: string | null | undefined): Fragment =>
    value === undefined ? column : sql.fragment`${value}`

  return {
    find: (projectId: string) =>
      Effect.map(sql<Project>`select ${all} from projects where project_id = ${projectId}`, (rows) => rows[0]),

    list: (principal: string, window: { readonly limit: number; readonly offset: number }) => sql<Project>`
      select ${all} from projects p
       where ${visibleTo(principal)}
       order by created_at desc, project_id
       limit ${window.limit} offset ${window.offset}`,

    count: (principal: string) =>
      Effect.map(
        sql<{ readonly count: number }>`select count(*)::int as count from projects p where ${visibleTo(principal)}`,
        (rows) => rows[0]?.count ?? 0,
      ),

    /** Call it in a transaction: the project and its first owner are there together. */
    insert: Effect.fnUntraced(function* (
      spec: NewProject,
      made: {
        readonly projectId: string
        readonly owner: string
        readonly defaultBranch: string
        readonly assignmentId: string
      },
    ) {
      const { blueprint } = spec
      const [project] = yield* sql<Project>`
        insert into projects (
          project_id, name, origin, working_directory, default_branch, owner, default_provider, default_model_hosted,
          default_model_byok, source_blueprint_id, source_blueprint_type, blueprint, generated_workflow_yaml,
          allowed_workflow_ids)
        values (
          ${made.projectId}, ${spec.name}, ${spec.origin}, ${spec.workingDirectory}, ${made.defaultBranch},
          ${made.owner}, ${spec.defaultProvider}, ${spec.defaultModelHosted}, ${spec.defaultModelByok},
          ${blueprint?.id ?? null}, ${blueprint === null ? null : "inline"},
          ${blueprint === null ? null : sql.json(blueprint)}, ${spec.generatedWorkflowYaml},
          ${blueprint === null ? null : workflowsOf(blueprint)}::text[])
        returning ${all}`
      yield* sql`
        insert into project_roles (assignment_id, project_id, principal_id, role)
        values (${made.assignmentId}, ${made.projectId}, ${made.owner}, 'owner')`
      return project ?? (yield* Effect.die("an insert gave no row"))
    }),

    /** The number of rows changed: 0 where there is no such project, or it is being deleted. */
    rename: (projectId: string, name: string) =>
      rowCount(sql`
        update projects set name = ${name}, updated_at = now()
         where project_id = ${projectId} and state = 'active' returning project_id`),

    setProvider: (projectId: string, set: Partial<ProjectModels> & { readonly defaultProvider: Provider }) =>
      rowCount(sql`
        update projects set default_provider = ${set.defaultProvider}, updated_at = now(),
          default_model_hosted = ${kept(sql.fragment`default_model_hosted`, set.defaultModelHosted)},
          default_model_byok = ${kept(sql.fragment`default_model_byok`, set.defaultModelByok)},
          blueprint_generation_model = ${kept(sql.fragment`blueprint_generation_model`, set.blueprintGenerationModel)},
          workflow_generation_model = ${kept(sql.fragment`workflow_generation_model`, set.workflowGenerationModel)},
          outcome_spec_generation_model =
            ${kept(sql.fragment`outcome_spec_generation_model`, set.outcomeSpecGenerationModel)}
         where project_id = ${projectId} and state = 'active' returning project_id`),

    setPreview: (projectId: string, set: PreviewSettings) =>
      rowCount(sql`
        update projects set preview_approval_timeout_minutes = ${set.previewApprovalTimeoutMinutes},
          preview_lifetime_minutes = ${set.previewLifetimeMinutes},
          preview_dns_convergence_timeout_seconds = ${set.previewDnsConvergenceTimeoutSeconds}, updated_at = now()
         where project_id = ${projectId} and state = 'active' returning project_id`),

    markDeleting: (projectId: string) =>
      rowCount(sql`
        update projects set state = 'deleting', updated_at = now() where project_id = ${projectId} returning project_id`),

    deleting: sql<Project>`select ${all} from projects where state = 'deleting'`,

    remove: (projectId: string) => sql`delete from projects where project_id = ${projectId} and state = 'deleting'`,
  }
}

const rowCount = <E>(rows: Effect.Effect<ReadonlyArray<unknown>, E>): Effect.Effect<number, E> =>
  Effect.map(rows, (found) => found.length)
