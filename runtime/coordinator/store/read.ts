/** Reads a coordinator run, whole, from its rows: one snapshot of them. */
import { Effect, Schema } from "effect"
import type { Run } from "#core/run/run.ts"
import { isTerminal, type RunStatus } from "#core/run/status.ts"
import type { SqlShape } from "#core/sql.ts"
import { SteeringSignal } from "#policies/steering/model.ts"
import type { Limits } from "#runtime/coordinator/limits.ts"
import { liveChildren } from "#runtime/coordinator/remembered.ts"
import type {
  Assembly,
  Attempt,
  ChildView,
  CoordinatorState,
  Dependency,
  Directive,
  OpenQuestion,
  OutcomeSpec,
  RosterMember,
  StartMode,
  Subtask,
  WorkPlan,
} from "#runtime/coordinator/state.ts"

type HeadRow = Pick<
  Run,
  | "runId"
  | "projectId"
  | "submittedBy"
  | "status"
  | "result"
  | "autopilot"
  | "modelSource"
  | "modelId"
  | "repository"
  | "originatingBranch"
> & {
  readonly goal: string
  readonly version: number
  readonly startMode: StartMode
  readonly roster: ReadonlyArray<RosterMember>
}

type PlanRow = Omit<WorkPlan, "subtasks" | "dependencies" | "assembly"> & Assembly
type SubtaskRow = Omit<Subtask, "attempts">
type AttemptRow = Attempt & { readonly subtaskId: number }
type DirectiveRow = Omit<Directive, "signal"> & { readonly signal: unknown }

interface ChildRow {
  readonly runId: string
  readonly status: RunStatus
  readonly result: string | null
  readonly retryable: boolean | null
  readonly lastEventAt: string
  readonly lastSequence: number
  readonly waiting: boolean
  readonly questions: ReadonlyArray<OpenQuestion> | null
  readonly branch: string | null
  readonly commit: string | null
  readonly treeHash: string | null
  readonly stepCount: number
  readonly executionPodName: string | null
}

const decodeSignal = Schema.decodeUnknownSync(SteeringSignal)

/** Undefined: the run is no coordinator run, or is gone. In a transaction it is one snapshot only if that has one. */
export const readState = (sql: SqlShape, limits: Limits) =>
  Effect.fnUntraced(function* (runId: string) {
    const head = yield* headOf(sql, runId)
    if (head === undefined) return undefined
    const { version, startMode, roster, ...run } = head
    const [spec] = yield* sql<OutcomeSpec>`
      select spec_id as "specId", status, desired_outcome as "desiredOutcome", scope, assumptions,
             clarifying_questions as "clarifyingQuestions", confirmed_by as "confirmedBy",
             allow_task_promotion as "allowTaskPromotion", feedback
        from outcome_specs where coordinator_run_id = ${runId}`
    const [plan] = yield* sql<PlanRow>`
      select work_plan_id as "workPlanId", outcome_spec_id as "outcomeSpecId", status, status_reason as "statusReason",
             workflow_id as "workflowId", gates, steering_iterations as "steeringIterations",
             human_review_round_trips as "humanReviewRoundTrips", stage, round, gate_id as "gateId",
             integration_commit as "commit", tree_hash as "treeHash", has_changes as "hasChanges",
             included_subtask_ids as "included", approved_tree_hash as "approvedTreeHash", approved_by as "approvedBy",
             merged_commit as "mergedCommit", assembly_reason as reason, return_to as "returnTo"
        from work_plans where coordinator_run_id = ${runId}`
    const state = { version, run, startMode, limits, roster, spec: spec ?? null }
    if (plan === undefined) {
      return {
        ...state,
        plan: null,
        directives: yield* directivesOf(sql, runId),
        children: {},
      } satisfies CoordinatorState
    }
    const subtasks = yield* sql<SubtaskRow>`
      select subtask_id as "subtaskId", ordinal, title, scope, role, assigned_agent as "assignedAgent",
             selected_model_id as "selectedModelId", charter, complexity, phase, isolation, status,
             next_reason as "nextReason", recovery_attempts as "recoveryAttempts",
             locked_out_agents as "lockedOutAgents", feedback, on_top as "onTop"
        from subtasks where work_plan_id = ${plan.workPlanId} order by ordinal`
    const attempts = yield* sql<AttemptRow>`
      select subtask_id as "subtaskId", attempt, child_run_id as "childRunId", reason, outcome as "end", signalled
        from subtask_attempts where coordinator_run_id = ${runId} order by subtask_id, attempt`
    const dependencies = yield* sql<Dependency>`
      select d.subtask_id as "subtaskId", d.depends_on_subtask_id as "dependsOnSubtaskId"
        from subtask_dependencies d join subtasks s using (subtask_id)
       where s.work_plan_id = ${plan.workPlanId} order by 1, 2`
    const attemptsOf = Map.groupBy(attempts, ({ subtaskId }) => subtaskId)
    return {
      ...state,
      plan: planFrom(
        plan,
        subtasks.map((subtask) => ({
          ...subtask,
          attempts: (attemptsOf.get(subtask.subtaskId) ?? []).map(({ subtaskId: _, ...rest }) => rest),
        })),
        dependencies,
      ),
      directives: yield* directivesOf(sql, runId),
      children: yield* childrenOf(sql, runId),
    } satisfies CoordinatorState
  })

/**
 * A state that was read or written before, as it stands now: the run, and the children that may have moved on.
 * Undefined: something else has changed too.
 */
export const refreshState = (sql: SqlShape) =>
  Effect.fnUntraced(function* (known: CoordinatorState) {
    const head = yield* headOf(sql, known.run.runId)
    if (head === undefined || head.version !== known.version) return undefined
    const { version: _, startMode: __, roster: ___, ...run } = head
    const live = liveChildren(known)
    const children: Record<string, ChildView> = { ...known.children }
    for (const runId of live) delete children[runId]
    return { ...known, run, children: Object.assign(children, yield* childrenOf(sql, known.run.runId, live)) }
  })

const headOf = (sql: SqlShape, runId: string) =>
  Effect.map(
    sql<HeadRow>`
      select r.run_id as "runId", r.project_id as "projectId", r.submitted_by as "submittedBy", r.task as goal, r.status,
             r.result, r.autopilot, r.model_source as "modelSource", r.model_id as "modelId", r.repository,
             r.originating_branch as "originatingBranch", c.version, c.start_mode as "startMode", c.roster
        from coordinators c join runs r using (run_id) where c.run_id = ${runId}`,
    ([head]) => head,
  )

const planFrom = (
  row: PlanRow,
  subtasks: ReadonlyArray<Subtask>,
  dependencies: ReadonlyArray<Dependency>,
): WorkPlan => {
  const { workPlanId, outcomeSpecId, status, statusReason, workflowId, gates, ...rest } = row
  const { steeringIterations, humanReviewRoundTrips, ...assembly } = rest
  return {
    workPlanId,
    outcomeSpecId,
    status,
    statusReason,
    workflowId,
    gates,
    subtasks,
    dependencies,
    steeringIterations,
    humanReviewRoundTrips,
    assembly,
  }
}

const directivesOf = (sql: SqlShape, runId: string) =>
  Effect.map(
    sql<DirectiveRow>`
      select directive_id as "directiveId", signal, status, decision, rationale, attempt,
             target_subtask_ids as targets,
             array(select v.subtask_id from steering_revisions v
                    where v.directive_id = d.directive_id and v.attempt = d.attempt order by 1) as revised,
             created_at as "createdAt", relayed_at as "relayedAt"
        from steering_directives d where coordinator_run_id = ${runId} order by directive_id`,
    (rows): ReadonlyArray<Directive> => rows.map((row) => ({ ...row, signal: decodeSignal(row.signal) })),
  )

/** The children of every attempt, or those of them that are named. A child whose run was deleted is not among them. */
const childrenOf = (sql: SqlShape, runId: string, only: ReadonlyArray<string> | null = null) =>
  Effect.map(
    sql<ChildRow>`
      select r.run_id as "runId", r.status, r.result, r.worktree_branch as branch, r.tree_hash as "treeHash",
             r.step_count as "stepCount", w.commit_hash as "commit", coalesce(e.created_at, r.created_at) as "lastEventAt",
             coalesce(e.sequence, 0) as "lastSequence",
             coalesce(cardinality(w.waits_for), 0) > 0 or r.status = 'pending' as waiting,
             case when r.ended_at is null then
               (select jsonb_agg(jsonb_build_object('requestId', q.payload ->> 'requestId',
                                                    'question', q.payload ->> 'question') order by q.sequence)
                  from events q
                 where q.run_id = r.run_id::text and q.type = 'agent.question_asked'
                   and coalesce((q.payload ->> 'expiresAt')::timestamptz > now(), true)
                   and not exists (select from events a
                                    where a.run_id = q.run_id and a.type = 'agent.question_answered'
                                      and a.payload ->> 'requestId' = q.payload ->> 'requestId'))
             end as questions,
             case when r.status = 'failed' then
               (select (f.payload ->> 'retryable')::boolean from events f
                 where f.run_id = r.run_id::text and f.type = 'run.failed' order by f.sequence desc limit 1)
             end as retryable,
             (select b.payload ->> 'executionPodName' from events b
               where b.run_id = r.run_id::text and b.type = 'sandbox.execution_pod.bound'
               order by b.sequence desc limit 1) as "executionPodName"
        from subtask_attempts a
        join runs r on r.run_id = a.child_run_id
        left join run_work w on w.run_id = r.run_id
        left join lateral (
          select created_at, sequence from events where run_id = r.run_id::text order by sequence desc limit 1
        ) e on true
       where a.coordinator_run_id = ${runId} and (${only}::uuid[] is null or a.child_run_id = any(${only}::uuid[]))`,
    (rows): Readonly<Record<string, ChildView>> =>
      Object.fromEntries(
        rows.map((row) => [
          row.runId,
          {
            ...row,
            retryable: row.retryable ?? false,
            lastEventAt: Date.parse(row.lastEventAt),
            questions: row.questions ?? [],
            touchedFiles: [],
            resumable: !isTerminal(row.status) || row.status === "assemble_ready" || row.status === "completed",
          },
        ]),
      ),
  )
