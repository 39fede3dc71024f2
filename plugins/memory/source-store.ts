/**
 * The tables `memory_sources` and `memory_reads`: what memories were made from, and what runs were given to read. Trust
 * follows the sources: an entry's is the least of its own and of theirs, at any remove.
 */
import { Effect } from "effect"
import type { SqlShape } from "#core/sql.ts"

export const makeSourceStore = (sql: SqlShape) => ({
  /** Trust goes down a project's entries one change after the other, or two changes could each miss the other. */
  trustLock: (projectId: string) =>
    sql`select pg_advisory_xact_lock(hashtextextended(${`memory-trust:${projectId}`}, 0))`,

  /** Trust of the entry, and of all that was derived from it: the least of what each was derived from. */
  settleTrust: (entryId: number) => sql`
    with recursive below (entry_id) as (
      select ${entryId}::integer
      union
      select s.entry_id from memory_sources s join below b on s.source_id = b.entry_id
    ), above (entry_id, ancestor) as (
      select entry_id, entry_id from below
      union
      select a.entry_id, s.source_id from above a join memory_sources s on s.entry_id = a.ancestor
    )
    update memory_entries e set trust = t.least
      from (select a.entry_id, min(m.own_trust) as least
              from above a join memory_entries m on m.entry_id = a.ancestor group by a.entry_id) t
     where e.entry_id = t.entry_id and e.trust <> t.least`,

  /** What keeps an approved entry from being trusted: entries that it was derived from, at any remove. */
  heldBackBy: (id: number) =>
    Effect.map(
      sql<{ readonly id: number }>`
          with recursive above (entry_id) as (
            select source_id from memory_sources where entry_id = ${id}
            union
            select s.source_id from memory_sources s join above a on s.entry_id = a.entry_id
          )
          select e.entry_id as id from memory_entries e join above using (entry_id)
           where e.own_trust < 2 order by e.entry_id limit 50`,
      (rows) => rows.map((row) => row.id),
    ),

  /** The agent of the run was given these. */
  noteReads: (runId: string, entries: ReadonlyArray<number>) =>
    entries.length === 0
      ? Effect.void
      : sql`
            insert into memory_reads (run_id, entry_id) select ${runId}, unnest(${entries}::int[])
            on conflict do nothing`,

  /** Of what the run was given, what nobody has vouched for yet. */
  doubtfulReads: (runId: string) =>
    Effect.map(
      sql<{ readonly id: number }>`
          select e.entry_id as id from memory_reads r join memory_entries e using (entry_id)
           where r.run_id = ${runId} and e.trust < 2`,
      (rows) => rows.map((row) => row.id),
    ),
})
