/** What a run cost: its own usage events, those of its reviewers and those of its children. */
import { Effect, Schema } from "effect"
import type { SqlShape } from "#core/sql.ts"

export const TokenBreakdown = Schema.Struct({
  runId: Schema.String,
  /** Where the figures come from. */
  source: Schema.String,
  hasAgentData: Schema.Boolean,
  totalTokens: Schema.Int,
  totalNanoAiu: Schema.Int,
  breakdown: Schema.Array(
    Schema.Struct({
      agentName: Schema.String,
      invocationCount: Schema.Int,
      totalTokens: Schema.Int,
      totalNanoAiu: Schema.Int,
    }),
  ),
})

interface Row {
  readonly agentName: string
  readonly invocationCount: number
  readonly totalTokens: number
  readonly totalNanoAiu: number
}

const sum = (rows: ReadonlyArray<Row>, of: (row: Row) => number): number =>
  rows.reduce((total, row) => total + of(row), 0)

export const makeBreakdown = (sql: SqlShape) =>
  Effect.fn("insight.usage")(function* (runId: string) {
    const rows = yield* sql<Row>`
      with recursive tree as (
        select run_id, agent_name from runs where run_id = ${runId}
        union all
        select r.run_id, r.agent_name from runs r join tree t on r.parent_run_id = t.run_id
      ), logs as (
        select run_id::text as log, coalesce(agent_name, 'Agent') as agent from tree
        union all
        select run_id || '-rai', 'Rai' from tree
        union all
        select run_id || '-rubberduck', 'Rubberduck' from tree
        union all
        select run_id || '-scribe', 'Scribe' from tree
      )
      select l.agent as "agentName", count(*)::int as "invocationCount",
             sum((e.payload ->> 'totalTokens')::float8)::float8 as "totalTokens",
             sum((e.payload ->> 'totalNanoAiu')::float8)::float8 as "totalNanoAiu"
        from events e join logs l on e.run_id = l.log
       where e.type = 'agent.turn.usage'
       group by l.agent
       order by 3 desc, 1`
    return {
      runId,
      source: "events",
      hasAgentData: rows.length > 0,
      totalTokens: sum(rows, (row) => row.totalTokens),
      totalNanoAiu: sum(rows, (row) => row.totalNanoAiu),
      breakdown: rows,
    }
  })
