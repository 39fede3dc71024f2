/**
 * Appends that do not wait for a group commit: those that share a transaction with the rows they
 * describe, those that open a log, and those that may be repeated.
 */
import { Effect } from "effect"
import type { NewEvent, StoredEvent } from "#core/event.ts"
import type { Reader } from "#core/event-log/reader.ts"
import type { OnCommitted } from "#core/event-log/writer.ts"
import { refuse } from "#core/refusal.ts"
import type { SqlShape } from "#core/sql.ts"

interface AppendedRow {
  /** The last sequence before; -1 where the run is not known. */
  readonly head: number
  readonly conflict: boolean
  readonly sequences: ReadonlyArray<string> | null
  readonly fresh: ReadonlyArray<boolean> | null
  readonly appended_at: string
}

export const makeTransactionalAppend = (sql: SqlShape, reader: Reader, onCommitted: OnCommitted) => {
  const original = ({ runId, sequence }: StoredEvent) =>
    reader
      .page(runId, { after: sequence - 1, limit: 1 })
      .pipe(
        Effect.flatMap(([event]) =>
          event === undefined ? Effect.die("a replayed event is gone") : Effect.succeed(event),
        ),
      )
  return Effect.fnUntraced(function* (runId: string, events: ReadonlyArray<NewEvent>, opening: boolean) {
    const [row] = yield* sql<AppendedRow>`
      select head, conflict, sequences::text[] as sequences, fresh, appended_at
        from append_replayable(${runId}, ${opening}, ${events.map((e) => e.type)}::text[],
          ${events.map((e) => e.payload)}::text[], ${events.map((e) => e.replayKey ?? null)}::text[])`
    if (row === undefined) return yield* Effect.die("append_replayable gave no row")
    if (row.head < 0) return yield* refuse("run_not_found")
    if (row.conflict) return yield* refuse("replay_conflict")
    const { sequences, fresh, appended_at } = row
    const stored = events.map(
      (event, i): StoredEvent => ({
        runId,
        sequence: Number(sequences?.[i]),
        type: event.type,
        timestamp: appended_at,
        payload: event.payload,
      }),
    )
    const written = stored.filter((_, i) => fresh?.[i] === true)
    yield* sql.afterCommit(() => onCommitted(runId, written))
    return yield* Effect.forEach(stored, (event, i) => (fresh?.[i] === true ? Effect.succeed(event) : original(event)))
  })
}
