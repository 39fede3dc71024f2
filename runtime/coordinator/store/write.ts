/** Writes what a change made of the rows. Only in the transaction that has raised the version. */
import { Effect, Struct } from "effect"
import type { SqlShape } from "#core/sql.ts"
import type { CoordinatorState, Directive, OutcomeSpec, WorkPlan } from "#runtime/coordinator/state.ts"

/** Rows that are the same value before and after are left alone. */
export const writeRows = (sql: SqlShape) =>
  Effect.fnUntraced(function* (before: CoordinatorState, after: CoordinatorState) {
    const { runId } = after.run
    if (after.spec !== null && after.spec !== before.spec) yield* writeSpec(sql, runId, after.spec)
    if (after.plan !== null && after.plan !== before.plan) {
      if (!sameButForSubtasks(before.plan, after.plan)) yield* writePlan(sql, runId, after.plan)
      yield* writeSubtasks(sql, runId, before.plan, after.plan)
    }
    const changed = newIn(before.directives, after.directives)
    if (changed.length > 0) yield* writeDirectives(sql, runId, changed)
  })

/** Those that are other values than before. */
const newIn = <A>(before: ReadonlyArray<A>, after: ReadonlyArray<A>): ReadonlyArray<A> => {
  const known = new Set(before)
  return after.filter((each) => !known.has(each))
}

const sameButForSubtasks = (before: WorkPlan | null, { subtasks: _, ...after }: WorkPlan): boolean =>
  before !== null && Struct.keys(after).every((key) => after[key] === before[key])

const writeSpec = (sql: SqlShape, runId: string, spec: OutcomeSpec) => sql`
  insert into outcome_specs (spec_id, coordinator_run_id, status, desired_outcome, scope, assumptions,
                             clarifying_questions, confirmed_by, allow_task_promotion, feedback)
  values (${spec.specId}, ${runId}, ${spec.status}, ${spec.desiredOutcome}, ${spec.scope}, ${spec.assumptions},
          ${spec.clarifyingQuestions}, ${spec.confirmedBy}, ${spec.allowTaskPromotion}, ${spec.feedback}::text[])
  on conflict (spec_id) do update set
    status = excluded.status, desired_outcome = excluded.desired_outcome, scope = excluded.scope,
    assumptions = excluded.assumptions, clarifying_questions = excluded.clarifying_questions,
    confirmed_by = excluded.confirmed_by, allow_task_promotion = excluded.allow_task_promotion,
    feedback = excluded.feedback`

const writePlan = (sql: SqlShape, runId: string, plan: WorkPlan) => {
  const { assembly } = plan
  return sql`
    insert into work_plans (
      work_plan_id, coordinator_run_id, outcome_spec_id, status, status_reason, workflow_id, gates,
      steering_iterations, human_review_round_trips, stage, round, gate_id, integration_commit, tree_hash, has_changes,
      included_subtask_ids, approved_tree_hash, approved_by, merged_commit, assembly_reason, return_to)
    values (
      ${plan.workPlanId}, ${runId}, ${plan.outcomeSpecId}, ${plan.status}, ${plan.statusReason}, ${plan.workflowId},
      ${plan.gates}::text[], ${plan.steeringIterations}, ${plan.humanReviewRoundTrips}, ${assembly.stage},
      ${assembly.round}, ${assembly.gateId}, ${assembly.commit}, ${assembly.treeHash}, ${assembly.hasChanges},
      ${assembly.included}::int[], ${assembly.approvedTreeHash}, ${assembly.approvedBy}, ${assembly.mergedCommit},
      ${assembly.reason}, ${assembly.returnTo})
    on conflict (work_plan_id) do update set
      status = excluded.status, status_reason = excluded.status_reason,
      steering_iterations = excluded.steering_iterations,
      human_review_round_trips = excluded.human_review_round_trips, stage = excluded.stage, round = excluded.round,
      gate_id = excluded.gate_id, integration_commit = excluded.integration_commit, tree_hash = excluded.tree_hash,
      has_changes = excluded.has_changes, included_subtask_ids = excluded.included_subtask_ids,
      approved_tree_hash = excluded.approved_tree_hash, approved_by = excluded.approved_by,
      merged_commit = excluded.merged_commit, assembly_reason = excluded.assembly_reason,
      return_to = excluded.return_to`
}

const writeSubtasks = Effect.fnUntraced(function* (
  sql: SqlShape,
  runId: string,
  before: WorkPlan | null,
  { workPlanId, subtasks, dependencies }: WorkPlan,
) {
  const changed = newIn(before?.subtasks ?? [], subtasks)
  if (changed.length > 0) {
    yield* sql`
      insert into subtasks (
        subtask_id, work_plan_id, ordinal, title, scope, role, assigned_agent, selected_model_id, charter, complexity,
        phase, isolation, status, next_reason, recovery_attempts, locked_out_agents, feedback, on_top)
      select s."subtaskId", ${workPlanId}::int, s.ordinal, s.title, s.scope, s.role, s."assignedAgent",
             s."selectedModelId", s.charter, s.complexity, s.phase, s.isolation, s.status, s."nextReason",
             s."recoveryAttempts", s."lockedOutAgents", s.feedback, s."onTop"
        from jsonb_to_recordset(${sql.json(changed)}::jsonb) as s(
          "subtaskId" int, ordinal int, title text, scope text, role text, "assignedAgent" text,
          "selectedModelId" text, charter text, complexity text, phase text, isolation text, status text,
          "nextReason" text, "recoveryAttempts" int, "lockedOutAgents" text[], feedback text[], "onTop" boolean)
      on conflict (subtask_id) do update set
        assigned_agent = excluded.assigned_agent, selected_model_id = excluded.selected_model_id,
        status = excluded.status, next_reason = excluded.next_reason,
        recovery_attempts = excluded.recovery_attempts, locked_out_agents = excluded.locked_out_agents,
        feedback = excluded.feedback, on_top = excluded.on_top`
    const attempts = changed.flatMap(({ subtaskId, attempts }) => attempts.map((each) => ({ ...each, subtaskId })))
    if (attempts.length > 0) {
      yield* sql`
        insert into subtask_attempts (coordinator_run_id, subtask_id, attempt, child_run_id, reason, outcome, signalled)
        select ${runId}::uuid, a."subtaskId", a.attempt, a."childRunId", a.reason, a."end", a.signalled
          from jsonb_to_recordset(${sql.json(attempts)}::jsonb) as a(
            "subtaskId" int, attempt int, "childRunId" uuid, reason text, "end" text, signalled boolean)
         order by a."subtaskId", a.attempt
        on conflict (coordinator_run_id, subtask_id, attempt) do update set
          outcome = excluded.outcome, signalled = excluded.signalled`
    }
  }
  if (before === null && dependencies.length > 0) {
    yield* sql`
      insert into subtask_dependencies (subtask_id, depends_on_subtask_id)
      select d."subtaskId", d."dependsOnSubtaskId"
        from jsonb_to_recordset(${sql.json(dependencies)}::jsonb) as d("subtaskId" int, "dependsOnSubtaskId" int)`
  }
})

const writeDirectives = Effect.fnUntraced(function* (
  sql: SqlShape,
  runId: string,
  directives: ReadonlyArray<Directive>,
) {
  yield* sql`
    insert into steering_directives (
      directive_id, coordinator_run_id, signal, status, decision, rationale, attempt, target_subtask_ids, created_at,
      relayed_at)
    select d."directiveId", ${runId}::uuid, d.signal, d.status, d.decision, d.rationale, d.attempt, d.targets,
           d."createdAt", d."relayedAt"
      from jsonb_to_recordset(${sql.json(directives)}::jsonb) as d(
        "directiveId" int, signal jsonb, status text, decision text, rationale text, attempt int, targets int[],
        "createdAt" timestamptz, "relayedAt" timestamptz)
    on conflict (directive_id) do update set
      status = excluded.status, decision = excluded.decision, rationale = excluded.rationale,
      attempt = excluded.attempt, target_subtask_ids = excluded.target_subtask_ids, relayed_at = excluded.relayed_at`
  const revisions = directives.flatMap(({ directiveId, attempt, revised }) =>
    revised.map((subtaskId) => ({ directiveId, attempt, subtaskId })),
  )
  if (revisions.length === 0) return
  yield* sql`
    insert into steering_revisions (directive_id, attempt, subtask_id)
    select v."directiveId", v.attempt, v."subtaskId"
      from jsonb_to_recordset(${sql.json(revisions)}::jsonb) as v("directiveId" int, attempt int, "subtaskId" int)
    on conflict do nothing`
})
