/**
 * What may go into the context of an agent's turn. Only what somebody vouched for is everybody's; an agent's own
 * notes are its own, unless they come from outside. Each query is one look at an index that holds just that.
 */
import { Effect } from "effect"
import type { DatabaseUnavailable, SqlShape } from "#core/sql.ts"
import type { ContextDecision, ContextMemory, ContextSession } from "#plugins/memory/context/envelope.ts"
import { type Budget, type Candidates, charactersPerToken } from "#plugins/memory/context/select.ts"
import { importanceOf } from "#plugins/memory/values.ts"

/** Characters that a decision takes at the least: more rows than that many cannot fit, and need not be read. */
const leastDecision = 60

/** Whose turn it is. */
export interface Reader {
  readonly runId: string
  readonly projectId: string
  readonly agentName: string
}

interface MemoryRow extends Omit<ContextMemory, "importance"> {
  readonly importance: number
}

export const makeCandidates = (sql: SqlShape) => {
  const decisionsOf = (projectId: string, limit: number) => sql<ContextDecision>`
    select decision_id as id, type, title, content, rationale from memory_decisions
     where project_id = ${projectId} and status = 'active' and trust_state = 'approved'
       and type in ('architectural', 'scope')
     order by decision_id limit ${limit}`

  // each side of the union is read best first from its own index, and no further than needed
  const memoriesOf = (projectId: string, agentName: string, limit: number) => sql<MemoryRow>`
    select id, agent, type, importance, content from (
      (select entry_id as id, agent_name as agent, type, importance, content, created_at from memory_entries
        where project_id = ${projectId} and agent_name = ${agentName} and trust > 0
          and (type = 'core_context' or (importance = 3 and type in ('learning', 'pattern')))
        order by importance desc, created_at desc, entry_id desc limit ${limit})
      union all
      (select entry_id, agent_name, type, importance, content, created_at from memory_entries
        where project_id = ${projectId} and agent_name <> ${agentName} and trust = 2 and importance = 3
          and type in ('learning', 'pattern') and tags @> '{cross-team}'
        order by created_at desc, entry_id desc limit ${limit})) candidates
     order by importance desc, created_at desc, id desc limit ${limit}`

  const countOf = (projectId: string, agentName: string) =>
    Effect.map(
      sql<{ readonly count: number }>`
        select ((select count(*) from memory_entries
                  where project_id = ${projectId} and agent_name = ${agentName} and trust > 0
                    and (type = 'core_context' or (importance = 3 and type in ('learning', 'pattern'))))
              + (select count(*) from memory_entries
                  where project_id = ${projectId} and agent_name <> ${agentName} and trust = 2 and importance = 3
                    and type in ('learning', 'pattern') and tags @> '{cross-team}'))::int as count`,
      (rows) => rows[0]?.count ?? 0,
    )

  const sessionOf = (projectId: string) =>
    Effect.map(
      sql<ContextSession>`
        select id, focus_area as focus, active_issues, summary from memory_sessions
         where project_id = ${projectId} and ended_at is null and trusted`,
      (rows) => rows[0] ?? null,
    )

  const isChild = (runId: string) =>
    Effect.map(
      sql<{ readonly child: boolean }>`select parent_run_id is not null as child from runs where run_id = ${runId}`,
      (rows) => rows[0]?.child === true,
    )

  return Effect.fn("memory.candidates")(function* (
    { runId, projectId, agentName }: Reader,
    { maxItems, maxTokens }: Budget,
  ): Effect.fn.Return<Candidates, DatabaseUnavailable> {
    const decisionLimit = Math.floor((maxTokens * charactersPerToken) / leastDecision) + 1
    const [decisions, memories, session, child] = yield* Effect.all(
      [
        decisionsOf(projectId, decisionLimit),
        memoriesOf(projectId, agentName, maxItems + 1),
        sessionOf(projectId),
        isChild(runId),
      ],
      { concurrency: 4 },
    )
    const memoryCount = memories.length <= maxItems ? memories.length : yield* countOf(projectId, agentName)
    return {
      decisions,
      memories: memories.map((memory) => ({ ...memory, importance: importanceOf(memory.importance) })),
      memoryCount,
      session,
      child,
    }
  })
}
