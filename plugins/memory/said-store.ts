/** Memories as files say them, many at a time: what is there as often as it is said is left as it is. */
import { Effect } from "effect"
import type { SqlShape } from "#core/sql.ts"
import type { Author } from "#plugins/memory/author.ts"
import type { NewEntry } from "#plugins/memory/entry-store.ts"
import { makeSourceStore } from "#plugins/memory/source-store.ts"

/** What a file says, and how often it has said so by then. */
export interface SaidEntry extends Omit<NewEntry, "sessionId" | "derivedFrom"> {
  readonly createdAt: string
  readonly nth: number
}

/** Rows of one statement. */
const batch = 1_000

const jsonOf = (entries: ReadonlyArray<SaidEntry>): string =>
  JSON.stringify(
    entries.map(({ agentName, createdAt, ...entry }, place) => ({
      ...entry,
      place,
      agent_name: agentName,
      created_at: createdAt,
    })),
  )

export const makeSaidStore = (sql: SqlShape) => ({
  /** How many of these were added: those that are not there as often as they are said. They are nobody's word yet. */
  insertMissing: Effect.fnUntraced(function* (projectId: string, entries: ReadonlyArray<SaidEntry>, author: Author) {
    return yield* sql.transaction(
      Effect.gen(function* () {
        // of two imports at once, the later finds what the earlier brought
        yield* makeSourceStore(sql).trustLock(projectId)
        let added = 0
        for (let from = 0; from < entries.length; from += batch) {
          const rows = yield* sql`
            insert into memory_entries (project_id, agent_name, type, importance, content, tags, source_kind,
              source_identity, source_run_id, trust_state, created_at)
            select ${projectId}, said.agent_name, said.type, said.importance, said.content,
                   array(select jsonb_array_elements_text(said.tags)), ${author.sourceKind}, ${author.identity},
                   ${author.run?.runId ?? null}, 'pending', said.created_at
              from jsonb_to_recordset(${jsonOf(entries.slice(from, from + batch))}::text::jsonb) as said (
                     place integer, agent_name text, type text, importance smallint, content text, tags jsonb,
                     created_at timestamptz, nth integer)
              left join (
                select agent_name, type, sha256(convert_to(content, 'UTF8')) as digest, count(*) as times
                  from memory_entries where project_id = ${projectId} group by 1, 2, 3) there
                on there.agent_name = said.agent_name and there.type = said.type
               and there.digest = sha256(convert_to(said.content, 'UTF8'))
             where said.nth > coalesce(there.times, 0)
             order by said.place returning entry_id`
          added += rows.length
        }
        return added
      }),
    )
  }),
})
