/**
 * What an agent and its model said to each other, in order: the memory of a run that outlives its workers.
 * It holds prompts, which events never do.
 */
import { Effect, Schema } from "effect"
import type { SqlShape } from "#core/sql.ts"
import { SessionEntry } from "#core/wire/turn.ts"

const decodeEntry = Schema.decodeUnknownSync(SessionEntry)

export const makeSessionStore = (sql: SqlShape) => ({
  load: (runId: string) =>
    Effect.map(
      sql<{ readonly entry: unknown }>`select entry from run_session where run_id = ${runId} order by position`,
      (rows) => rows.map((row) => decodeEntry(row.entry)),
    ),

  /** What the agent was told and has not heard, oldest first: from now on it has. In the transaction that stores it. */
  takeInstructions: (runId: string) =>
    Effect.map(
      sql<{ readonly text: string; readonly id: number }>`
        update run_instructions set delivered_at = now()
         where run_id = ${runId} and delivered_at is null
        returning text, instruction_id::float8 as id`,
      (rows) => rows.toSorted((a, b) => a.id - b.id).map((row) => row.text),
    ),

  /** Appends in order. Only in a transaction that holds the run's row: two at once would take one place. */
  append: (runId: string, entries: ReadonlyArray<SessionEntry>) =>
    entries.length === 0
      ? Effect.void
      : Effect.asVoid(sql`
          insert into run_session (run_id, position, entry)
          select ${runId}::uuid,
                 (select coalesce(max(position), 0) from run_session where run_id = ${runId}) + e.place::int,
                 e.entry
            from json_array_elements(${sql.json(entries)}::json) with ordinality as e(entry, place)`),
})
