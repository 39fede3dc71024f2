/** Lists of runs: the summaries of a project, newest first. */
import { Effect } from "effect"
import type { Run } from "#core/run/run.ts"
import type { DatabaseUnavailable, SqlShape } from "#core/sql.ts"

export type RunSummary = Pick<
  Run,
  | "runId"
  | "workflowRunId"
  | "task"
  | "status"
  | "agentName"
  | "parentRunId"
  | "reviewedBy"
  | "startedAt"
  | "endedAt"
  | "modelId"
  | "result"
  | "archivedAt"
  | "coordinatorStatus"
  | "coordinatorStatusReason"
  | "retriedFrom"
>

export interface RunQuery {
  readonly projectId: string
  readonly agent?: string
  readonly terminalOnly?: boolean
  readonly includeChildren?: boolean
  readonly limit: number
  readonly offset: number
}

export interface RunSearch {
  readonly list: (query: RunQuery) => Effect.Effect<ReadonlyArray<RunSummary>, DatabaseUnavailable>
  readonly count: (query: RunQuery) => Effect.Effect<number, DatabaseUnavailable>
}

export const makeRunSearch = (sql: SqlShape): RunSearch => {
  const matching = (query: RunQuery) => sql.fragment`
    project_id = ${query.projectId}
      and (parent_run_id is null or ${query.includeChildren ?? false}::boolean)
      and (ended_at is not null or not ${query.terminalOnly ?? false}::boolean)
      and agent_name is not distinct from coalesce(${query.agent ?? null}::text, agent_name)`
  return {
    list: (query) => sql<RunSummary>`
      select run_id as "runId", workflow_run_id as "workflowRunId", task, status, agent_name as "agentName",
             parent_run_id as "parentRunId", reviewed_by as "reviewedBy", started_at as "startedAt",
             ended_at as "endedAt", model_id as "modelId", result, archived_at as "archivedAt",
             coordinator_status as "coordinatorStatus", coordinator_status_reason as "coordinatorStatusReason",
             retried_from as "retriedFrom"
        from runs
       where ${matching(query)}
       order by started_at desc, run_id
       limit ${query.limit} offset ${query.offset}`,
    count: (query) =>
      Effect.map(
        sql<{ readonly count: number }>`select count(*)::int as count from runs where ${matching(query)}`,
        (rows) => rows[0]?.count ?? 0,
      ),
  }
}
