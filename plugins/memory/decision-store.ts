/** The table `memory_decisions`: every statement about it. */
import { Effect } from "effect"
import type { Fragment, SqlShape } from "#core/sql.ts"
import type { Author } from "#plugins/memory/author.ts"
import type { DecisionStatus, DecisionType, SourceKind, TrustState } from "#plugins/memory/values.ts"

export interface Decision {
  readonly id: number
  readonly agentName: string
  readonly type: DecisionType
  readonly status: DecisionStatus
  readonly title: string
  readonly content: string
  readonly rationale: string | null
  readonly tags: ReadonlyArray<string>
  readonly supersededById: number | null
  readonly sourceKind: SourceKind
  readonly sourceIdentity: string
  readonly sourceRunId: string | null
  readonly trustState: TrustState
  readonly approvedBy: string | null
  readonly approvedAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export interface NewDecision {
  readonly agentName: string
  readonly type: DecisionType
  readonly title: string
  readonly content: string
  readonly rationale: string | null
  readonly tags: ReadonlyArray<string>
  readonly status?: DecisionStatus
  readonly source: Pick<Decision, "sourceKind" | "sourceIdentity" | "sourceRunId">
  /** Who vouches for it; null: nobody yet. */
  readonly approvedBy: string | null
}

export interface DecisionChange {
  readonly status?: DecisionStatus
  readonly content?: string
  readonly rationale?: string | null
  readonly supersededById?: number
}

export interface DecisionFilter {
  readonly status?: string | undefined
  readonly type?: string | undefined
  readonly agentName?: string | undefined
  /** Only what somebody vouched for: agents are told of nothing else. */
  readonly approved?: boolean | undefined
}

export const sourceOf = (author: Author): NewDecision["source"] => ({
  sourceKind: author.sourceKind,
  sourceIdentity: author.identity,
  sourceRunId: author.run?.runId ?? null,
})

export const makeDecisionStore = (sql: SqlShape) => {
  const all: Fragment = sql.fragment`
    decision_id as id, agent_name as "agentName", type, status, title, content, rationale, tags,
    superseded_by_id as "supersededById", source_kind as "sourceKind", source_identity as "sourceIdentity",
    source_run_id as "sourceRunId", trust_state as "trustState", approved_by as "approvedBy",
    approved_at as "approvedAt", created_at as "createdAt", updated_at as "updatedAt"`

  const only = (projectId: string, { status, type, agentName, approved }: DecisionFilter): Fragment => sql.fragment`
    project_id = ${projectId}
    ${status === undefined ? sql.fragment`` : sql.fragment`and status = ${status}`}
    ${type === undefined ? sql.fragment`` : sql.fragment`and type = ${type}`}
    ${agentName === undefined ? sql.fragment`` : sql.fragment`and agent_name = ${agentName}`}
    ${approved === true ? sql.fragment`and trust_state = 'approved'` : sql.fragment``}`

  return {
    find: (projectId: string, id: number) =>
      Effect.map(
        sql<Decision>`select ${all} from memory_decisions where project_id = ${projectId} and decision_id = ${id}`,
        (rows) => rows[0],
      ),

    list: (projectId: string, filter: DecisionFilter, window: { readonly limit: number; readonly offset: number }) =>
      sql<Decision>`
        select ${all} from memory_decisions where ${only(projectId, filter)}
         order by decision_id desc limit ${window.limit} offset ${window.offset}`,

    count: (projectId: string, filter: DecisionFilter) =>
      Effect.map(
        sql<{ readonly count: number }>`
          select count(*)::int as count from memory_decisions where ${only(projectId, filter)}`,
        (rows) => rows[0]?.count ?? 0,
      ),

    /** All of a project, for files, in the order in which they were taken. */
    everything: (projectId: string) => sql<Decision>`
      select ${all} from memory_decisions where project_id = ${projectId} order by decision_id`,

    /** How many say exactly that. */
    countSame: (projectId: string, { agentName, type, title, content }: Omit<NewDecision, "source" | "approvedBy">) =>
      Effect.map(
        sql<{ readonly count: number }>`
          select count(*)::int as count from memory_decisions
           where project_id = ${projectId} and agent_name = ${agentName} and type = ${type} and title = ${title}
             and content = ${content}`,
        (rows) => rows[0]?.count ?? 0,
      ),

    insert: Effect.fnUntraced(function* (projectId: string, decision: NewDecision) {
      const { source, approvedBy } = decision
      const [row] = yield* sql<Decision>`
        insert into memory_decisions (project_id, agent_name, type, status, title, content, rationale, tags,
          source_kind, source_identity, source_run_id, trust_state, approved_by, approved_at)
        values (${projectId}, ${decision.agentName}, ${decision.type}, ${decision.status ?? "active"}, ${decision.title},
          ${decision.content}, ${decision.rationale}, ${decision.tags}::text[], ${source.sourceKind},
          ${source.sourceIdentity}, ${source.sourceRunId}, ${approvedBy === null ? "pending" : "approved"},
          ${approvedBy}, case when ${approvedBy}::text is null then null else now() end)
        returning ${all}`
      return row ?? (yield* Effect.die("an insert gave no row"))
    }),

    /** `approvedBy` vouches for what it says from now on; null: nobody does, where it says something else now. */
    update: (projectId: string, id: number, change: DecisionChange, approvedBy: string | null) => {
      const { content, rationale } = change
      const status = change.supersededById === undefined ? change.status : "superseded"
      const saying = sql.fragment`coalesce(${content ?? null}, content)`
      const because = rationale === undefined ? sql.fragment`rationale` : sql.fragment`${rationale}`
      const differs = sql.fragment`(content, rationale) is distinct from (${saying}, ${because})`
      const trust =
        content === undefined && rationale === undefined
          ? sql.fragment``
          : approvedBy === null
            ? sql.fragment`, trust_state = case when ${differs} then 'pending' else trust_state end,
                approved_by = case when not (${differs}) then approved_by end,
                approved_at = case when not (${differs}) then approved_at end`
            : sql.fragment`, trust_state = 'approved', approved_by = ${approvedBy}, approved_at = now()`
      return Effect.map(
        sql<Decision>`
          update memory_decisions set
              status = coalesce(${status ?? null}, status), content = ${saying}, rationale = ${because},
              superseded_by_id = case when coalesce(${status ?? null}, status) = 'superseded'
                then coalesce(${change.supersededById ?? null}, superseded_by_id) end,
              updated_at = now() ${trust}
           where project_id = ${projectId} and decision_id = ${id} returning ${all}`,
        (rows) => rows[0],
      )
    },

    /** Vouched for. Where it had been already, whoever did so first stays. */
    approve: (projectId: string, id: number, by: string) =>
      Effect.map(
        sql<Decision>`
          update memory_decisions set
              trust_state = 'approved', approved_by = coalesce(approved_by, ${by}),
              approved_at = coalesce(approved_at, now()),
              updated_at = case when trust_state = 'approved' then updated_at else now() end
           where project_id = ${projectId} and decision_id = ${id} returning ${all}`,
        (rows) => rows[0],
      ),
  }
}

export type DecisionStore = ReturnType<typeof makeDecisionStore>
