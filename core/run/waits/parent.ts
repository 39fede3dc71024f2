/** A child that waits tells the run above it, and who drives that, so that the decision can be made at either. */
import { Effect } from "effect"
import type { NewEvent } from "#core/event.ts"
import type { EventLogShape } from "#core/event-log.ts"
import { workChannel } from "#core/run/work-store.ts"
import type { SqlShape } from "#core/sql.ts"

interface Child {
  readonly childRunId: string
  readonly subtaskId: number | null
}

/** Call it in the transaction that asks, before the child's own events: the log of a parent is always held first. */
export const makeTellParent = (sql: SqlShape, log: EventLogShape) =>
  Effect.fnUntraced(function* (runId: string, event: (child: Child) => NewEvent) {
    const [run] = yield* sql<{ parentRunId: string | null; subtaskId: number | null }>`
      select parent_run_id as "parentRunId", subtask_id as "subtaskId" from runs where run_id = ${runId}`
    if (run === undefined || run.parentRunId === null) return
    yield* log.append(run.parentRunId, [event({ childRunId: runId, subtaskId: run.subtaskId })])
    yield* sql`select pg_notify(${workChannel}, ${run.parentRunId})`
  })
