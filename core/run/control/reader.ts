/**
 * Reads run control from the log. What was folded is kept per run with the last sequence it covers, so
 * that a later look reads only what came since; the log, never this memory, is the truth.
 */
import { Effect } from "effect"
import { type ControlState, controlTypes, emptyState, fold } from "#core/run/control/state.ts"
import type { DatabaseUnavailable, SqlShape } from "#core/sql.ts"

/** Runs whose control is remembered on one replica; the least recently used is forgotten first. */
const rememberedRuns = 1_000

/** `state` is what the log says up to the sequence `head`. */
export interface ReadControl {
  readonly head: number
  readonly state: ControlState
}

interface ControlRow {
  readonly head: number | null
  readonly type: string | null
  readonly payload: string | null
}

/** Folds what the run's log says now. Inside a transaction that holds the run's row nothing is added meanwhile. */
export const makeControlReader = (sql: SqlShape) => {
  const remembered = new Map<string, ReadControl>()

  const remember = (runId: string, entry: ReadControl): void => {
    remembered.delete(runId)
    remembered.set(runId, entry)
    if (remembered.size <= rememberedRuns) return
    const oldest = remembered.keys().next()
    if (!oldest.done) remembered.delete(oldest.value)
  }

  return Effect.fnUntraced(function* (runId: string): Effect.fn.Return<ReadControl, DatabaseUnavailable> {
    const before = remembered.get(runId) ?? { head: 0, state: emptyState }
    // naming the two commonest types lets the index that leaves them out serve
    const rows = yield* sql<ControlRow>`
      select (select max(sequence) from events where run_id = ${runId}) as head, e.type, e.payload
        from (values (1)) as one
        left join lateral (
          select sequence, type, payload::text as payload
            from events
           where run_id = ${runId} and sequence > ${before.head} and type = any(${controlTypes}::text[])
             and type <> 'agent.message.delta' and type <> 'tool.output'
        ) e on true
       order by e.sequence`
    const state = rows.reduce(
      (soFar, { type, payload }) => (type === null || payload === null ? soFar : fold(soFar, { type, payload })),
      before.state,
    )
    // what is read in a transaction may still be rolled back
    const read = { head: rows[0]?.head ?? 0, state }
    if (!(yield* sql.inTransaction)) remember(runId, read)
    return read
  })
}
