/** The table `runs`: every statement about it that is not a search. No rule is decided here. */
import { Effect } from "effect"
import type { Guard } from "#core/run/command.ts"
import type { RunChange } from "#core/run/decide.ts"
import type { Run } from "#core/run/run.ts"
import { activeStatuses, isTerminal, type RunStatus } from "#core/run/status.ts"
import type { Fragment, SqlShape } from "#core/sql.ts"

/** What a new run is made of. Everything else starts empty. */
export interface RunInsert {
  readonly runId: string
  readonly workflowRunId: string
  readonly projectId: string | null
  readonly parentRunId: string | null
  readonly subtaskId: number | null
  readonly submittedBy: string
  readonly agentName: string | null
  readonly task: string
  readonly modelSource: string
  readonly modelId: string | null
  readonly workflowId: string | null
  readonly workflowName: string | null
  readonly workflowSelectionReason: string | null
  readonly repository: string | null
  readonly originatingBranch: string | null
  readonly autoApproveTools: boolean
  readonly autopilot: boolean
  readonly retriedFrom: string | null
  readonly retryDepth: number
}

/** What is learned of a run beside its status; absent means unchanged. */
export interface RunFacts
  extends Partial<
    Pick<
      Run,
      | "outcomeAchieved"
      | "outcomeReason"
      | "coordinatorStatus"
      | "coordinatorStatusReason"
      | "modelId"
      | "effectiveModelProvider"
      | "sandbox"
    >
  > {
  /** Added to the steps so far. */
  readonly steps?: number
}

/** The columns of a run, in the names of `Run`. */
const columns = (sql: SqlShape): Fragment => sql.fragment`
  run_id as "runId", workflow_run_id as "workflowRunId", project_id as "projectId", parent_run_id as "parentRunId",
  subtask_id as "subtaskId", submitted_by as "submittedBy", agent_name as "agentName", task, status,
  model_source as "modelSource", model_id as "modelId", effective_model_provider as "effectiveModelProvider",
  workflow_id as "workflowId", workflow_name as "workflowName",
  workflow_selection_reason as "workflowSelectionReason", created_at as "createdAt", started_at as "startedAt",
  ended_at as "endedAt", archived_at as "archivedAt", result, step_count as "stepCount", revisions,
  repository, originating_branch as "originatingBranch", worktree_path as "worktreePath", worktree_branch as "worktreeBranch",
  tree_hash as "treeHash", diff, review_ready_at as "reviewReadyAt", reviewed_by as "reviewedBy",
  merged_commit_hash as "mergedCommitHash", merge_conflicts as "mergeConflicts",
  outcome_achieved as "outcomeAchieved", outcome_reason as "outcomeReason", sandbox,
  coordinator_status as "coordinatorStatus", coordinator_status_reason as "coordinatorStatusReason",
  auto_approve_tools as "autoApproveTools", autopilot, retried_from as "retriedFrom",
  retry_depth as "retryDepth", fence`

export const makeRunStore = (sql: SqlShape) => {
  const all = columns(sql)

  /** The run, or undefined. */
  const find = (runId: string) =>
    Effect.map(sql<Run>`select ${all} from runs where run_id = ${runId}`, (rows) => rows[0])

  /** The same, and nobody else changes it until the transaction ends. */
  const lock = (runId: string) =>
    Effect.map(sql<Run>`select ${all} from runs where run_id = ${runId} for no key update`, (rows) => rows[0])

  /** The row as changed, or undefined where the guard does not hold. The only way a status changes. */
  const change = (runId: string, guard: Guard, set: RunChange, fence: number | undefined) =>
    Effect.map(
      sql<Run>`
        update runs set ${assignments(sql, set)}
         where run_id = ${runId}
           and status = any(${guard.from}::text[])
           and (parent_run_id is not null or not ${guard.childOnly}::boolean)
           and revisions < ${guard.revisionsBelow}
           and (${guard.treeHash}::text is null or tree_hash = ${guard.treeHash})
           and fence = coalesce(${fence ?? null}::bigint, fence)
        returning ${all}`,
      (rows) => rows[0],
    )

  /** Every active run below `runId`, at any depth, ended as `set` says. Call it again until it gives none. */
  const changeActiveDescendants = (runId: string, set: RunChange) =>
    sql<Run>`
      with recursive tree as (
        select run_id from runs where parent_run_id = ${runId}
        union all
        select r.run_id from runs r join tree t on r.parent_run_id = t.run_id
      )
      update runs set ${assignments(sql, set)}
       where run_id in (select run_id from tree) and status = any(${activeStatuses}::text[])
      returning ${all}`

  /**
   * The new row, or undefined where the project is not active or the parent not. Both stay so until the
   * transaction ends. A second retry of one run gives undefined as well.
   */
  const insert = (run: RunInsert) =>
    Effect.gen(function* () {
      if (run.projectId !== null) {
        const held = yield* sql`
          select from projects where project_id = ${run.projectId} and state = 'active' for share`
        if (held.length === 0) return "project_not_active" as const
      }
      if (run.parentRunId !== null) {
        const held = yield* sql`
          select from runs where run_id = ${run.parentRunId} and status = any(${activeStatuses}::text[]) for share`
        if (held.length === 0) return "parent_not_active" as const
      }
      const rows = yield* sql<Run>`
        insert into runs (
          run_id, workflow_run_id, project_id, parent_run_id, subtask_id, submitted_by, agent_name, task,
          model_source, model_id, workflow_id, workflow_name, workflow_selection_reason, repository, originating_branch,
          auto_approve_tools, autopilot, retried_from, retry_depth)
        values (
          ${run.runId}, ${run.workflowRunId}, ${run.projectId}, ${run.parentRunId}, ${run.subtaskId},
          ${run.submittedBy}, ${run.agentName}, ${run.task}, ${run.modelSource}, ${run.modelId}, ${run.workflowId},
          ${run.workflowName}, ${run.workflowSelectionReason}, ${run.repository}, ${run.originatingBranch},
          ${run.autoApproveTools}, ${run.autopilot}, ${run.retriedFrom}, ${run.retryDepth})
        on conflict (retried_from) where retried_from is not null do nothing
        returning ${all}`
      return rows[0] ?? ("retried_already" as const)
    })

  /** Undefined where there is no such run, or the fence is not the row's. */
  const record = (runId: string, facts: RunFacts, fence: number | undefined) =>
    Effect.map(
      sql<Run>`
        update runs set ${factAssignments(sql, facts)}
         where run_id = ${runId} and fence = coalesce(${fence ?? null}::bigint, fence)
        returning ${all}`,
      (rows) => rows[0],
    )

  const retryOf = (runId: string) =>
    Effect.map(sql<Run>`select ${all} from runs where retried_from = ${runId}`, (rows) => rows[0])

  /** The first time wins: archiving again changes nothing. */
  const archive = (runId: string) =>
    Effect.map(
      sql<Run>`update runs set archived_at = coalesce(archived_at, now()) where run_id = ${runId} returning ${all}`,
      (rows) => rows[0],
    )

  /** Removes the run and everything below it; gives what is gone. */
  const remove = (runId: string) =>
    sql<{ readonly runId: string; readonly repository: string | null }>`
      with recursive tree as (
        select run_id from runs where run_id = ${runId}
        union all
        select r.run_id from runs r join tree t on r.parent_run_id = t.run_id
      )
      delete from runs where run_id in (select run_id from tree) returning run_id as "runId", repository`

  const activeOfProject = (projectId: string) =>
    Effect.map(
      sql<{ readonly runId: string }>`
        select run_id as "runId" from runs where project_id = ${projectId} and ended_at is null`,
      (rows) => rows.map((row) => row.runId),
    )

  return { find, lock, change, changeActiveDescendants, insert, record, retryOf, archive, remove, activeOfProject }
}

export type RunStore = ReturnType<typeof makeRunStore>

/** `set` of a status change. Times come from the status, so that none is ever forgotten. */
const assignments = (sql: SqlShape, set: RunChange): Fragment => {
  const parts: Array<Fragment> = [sql.fragment`status = ${set.status}`, endedAt(sql, set.status)]
  if (set.starts) parts.push(sql.fragment`started_at = now()`)
  if (set.revises) parts.push(sql.fragment`revisions = revisions + 1`)
  if (set.reviewReady !== undefined) {
    parts.push(set.reviewReady ? sql.fragment`review_ready_at = now()` : sql.fragment`review_ready_at = null`)
  }
  if (set.result !== undefined) parts.push(sql.fragment`result = ${set.result}`)
  if (set.worktreePath !== undefined) parts.push(sql.fragment`worktree_path = ${set.worktreePath}`)
  if (set.worktreeBranch !== undefined) parts.push(sql.fragment`worktree_branch = ${set.worktreeBranch}`)
  if (set.treeHash !== undefined) parts.push(sql.fragment`tree_hash = ${set.treeHash}`)
  if (set.diff !== undefined) parts.push(sql.fragment`diff = ${set.diff}`)
  if (set.reviewedBy !== undefined) parts.push(sql.fragment`reviewed_by = ${set.reviewedBy}`)
  if (set.mergedCommitHash !== undefined) parts.push(sql.fragment`merged_commit_hash = ${set.mergedCommitHash}`)
  if (set.mergeConflicts !== undefined) parts.push(sql.fragment`merge_conflicts = ${set.mergeConflicts}::text[]`)
  return joined(sql, parts)
}

const factAssignments = (sql: SqlShape, facts: RunFacts): Fragment => {
  const parts: Array<Fragment> = [sql.fragment`step_count = step_count + ${facts.steps ?? 0}`]
  if (facts.outcomeAchieved !== undefined) parts.push(sql.fragment`outcome_achieved = ${facts.outcomeAchieved}`)
  if (facts.outcomeReason !== undefined) parts.push(sql.fragment`outcome_reason = ${facts.outcomeReason}`)
  if (facts.coordinatorStatus !== undefined) parts.push(sql.fragment`coordinator_status = ${facts.coordinatorStatus}`)
  if (facts.coordinatorStatusReason !== undefined) {
    parts.push(sql.fragment`coordinator_status_reason = ${facts.coordinatorStatusReason}`)
  }
  if (facts.modelId !== undefined) parts.push(sql.fragment`model_id = ${facts.modelId}`)
  if (facts.effectiveModelProvider !== undefined) {
    parts.push(sql.fragment`effective_model_provider = ${sql.json(facts.effectiveModelProvider)}`)
  }
  if (facts.sandbox !== undefined) parts.push(sql.fragment`sandbox = ${sql.json(facts.sandbox)}`)
  return joined(sql, parts)
}

const joined = (sql: SqlShape, parts: ReadonlyArray<Fragment>): Fragment =>
  parts.reduce((before, part) => sql.fragment`${before}, ${part}`)

const endedAt = (sql: SqlShape, status: RunStatus): Fragment =>
  isTerminal(status) ? sql.fragment`ended_at = now()` : sql.fragment`ended_at = null`
