/** The table `memory_entries`: memories of agents. What they were made from is in `source-store.ts`. */
import { Effect } from "effect"
import type { Fragment, SqlShape } from "#core/sql.ts"
import type { Author } from "#plugins/memory/author.ts"
import { makeSourceStore } from "#plugins/memory/source-store.ts"
import type { MemoryType, SourceKind, TrustState } from "#plugins/memory/values.ts"

export interface Entry {
  readonly id: number
  readonly agentName: string
  readonly sessionId: string | null
  readonly type: MemoryType
  /** 1 low, 2 medium, 3 high. */
  readonly importance: number
  readonly content: string
  readonly tags: ReadonlyArray<string>
  readonly sourceKind: SourceKind
  readonly sourceIdentity: string
  readonly sourceRunId: string | null
  readonly trustState: TrustState
  readonly approvedBy: string | null
  readonly approvedAt: string | null
  /** The least of its own and of all it was derived from: 0 nobody's word, 1 its own agent's, 2 approved. */
  readonly trust: number
  readonly createdAt: string
  readonly updatedAt: string
}

export interface NewEntry {
  readonly agentName: string
  readonly sessionId: string | null
  readonly type: MemoryType
  readonly importance: number
  readonly content: string
  readonly tags: ReadonlyArray<string>
  readonly derivedFrom: ReadonlyArray<number>
}

export interface EntryFilter {
  readonly agentName?: string | undefined
  readonly type?: string | undefined
  readonly importance?: number | undefined
  /** Any of them. */
  readonly tags?: ReadonlyArray<string> | undefined
}

export interface EntryChange {
  readonly type?: MemoryType
  readonly importance?: number
  readonly content?: string
  readonly tags?: ReadonlyArray<string>
}

export const makeEntryStore = (sql: SqlShape) => {
  const all: Fragment = sql.fragment`
    entry_id as id, agent_name as "agentName", session_id as "sessionId", type, importance, content, tags,
    source_kind as "sourceKind", source_identity as "sourceIdentity", source_run_id as "sourceRunId",
    trust_state as "trustState", approved_by as "approvedBy", approved_at as "approvedAt", trust,
    created_at as "createdAt", updated_at as "updatedAt"`

  const only = (projectId: string, { agentName, type, importance, tags }: EntryFilter): Fragment => sql.fragment`
    project_id = ${projectId}
    ${agentName === undefined ? sql.fragment`` : sql.fragment`and agent_name = ${agentName}`}
    ${type === undefined ? sql.fragment`` : sql.fragment`and type = ${type}`}
    ${importance === undefined ? sql.fragment`` : sql.fragment`and importance = ${importance}`}
    ${tags === undefined || tags.length === 0 ? sql.fragment`` : sql.fragment`and tags && ${tags}::text[]`}`

  const { trustLock, settleTrust, ...sources } = makeSourceStore(sql)

  const find = (projectId: string, id: number, agentName?: string) =>
    Effect.map(
      sql<Entry>`select ${all} from memory_entries where ${only(projectId, { agentName })} and entry_id = ${id}`,
      (rows) => rows[0],
    )

  return {
    find,

    list: (projectId: string, filter: EntryFilter, window: { readonly limit: number; readonly offset: number }) =>
      sql<Entry>`
        select ${all} from memory_entries where ${only(projectId, filter)}
         order by created_at desc, entry_id desc limit ${window.limit} offset ${window.offset}`,

    count: (projectId: string, filter: EntryFilter) =>
      Effect.map(
        sql<{ readonly count: number }>`
          select count(*)::int as count from memory_entries where ${only(projectId, filter)}`,
        (rows) => rows[0]?.count ?? 0,
      ),

    /** All of a project, for files: by day, and in the order in which they came. */
    everything: (projectId: string) => sql<Entry>`
      select ${all} from memory_entries where project_id = ${projectId} order by created_at::date, entry_id`,

    /** Sources that are not the project's are left out. */
    insert: Effect.fnUntraced(function* (projectId: string, entry: NewEntry, author: Author) {
      return yield* sql.transaction(
        Effect.gen(function* () {
          if (entry.derivedFrom.length > 0) yield* trustLock(projectId)
          const [row] = yield* sql<{ readonly id: number }>`
            insert into memory_entries (project_id, agent_name, session_id, type, importance, content, tags,
              source_kind, source_identity, source_run_id, trust_state, created_at)
            values (${projectId}, ${entry.agentName}, ${entry.sessionId}, ${entry.type}, ${entry.importance},
              ${entry.content}, ${entry.tags}::text[], ${author.sourceKind}, ${author.identity},
              ${author.run?.runId ?? null}, 'pending', now())
            returning entry_id as id`
          if (row === undefined) return yield* Effect.die("an insert gave no row")
          if (entry.derivedFrom.length > 0) {
            yield* sql`
              insert into memory_sources (entry_id, source_id)
              select ${row.id}, entry_id from memory_entries
               where project_id = ${projectId} and entry_id = any(${entry.derivedFrom}::int[]) and entry_id < ${row.id}`
          }
          yield* settleTrust(row.id)
          return (yield* find(projectId, row.id)) ?? (yield* Effect.die("a new entry is gone"))
        }),
      )
    }),

    /** Another content is another memory to vouch for: it is pending again. One that says so already stays as it is. */
    update: Effect.fnUntraced(function* (projectId: string, id: number, change: EntryChange, author: Author) {
      return yield* sql.transaction(
        Effect.gen(function* () {
          yield* trustLock(projectId)
          const rows = yield* sql`
            update memory_entries set
                type = coalesce(${change.type ?? null}, type), importance = coalesce(${change.importance ?? null}, importance),
                content = coalesce(${change.content ?? null}, content),
                tags = coalesce(${change.tags ?? null}::text[], tags),
                source_kind = case when source_kind in ('user', 'agent') then ${author.sourceKind} else source_kind end,
                source_identity = ${author.identity}, source_run_id = ${author.run?.runId ?? null},
                trust_state = case trust_state when 'legacy' then 'legacy' else 'pending' end,
                approved_by = null, approved_at = null, updated_at = now()
             where project_id = ${projectId} and entry_id = ${id}
               and (type, importance, content, tags) is distinct from
                   (coalesce(${change.type ?? null}, type), coalesce(${change.importance ?? null}, importance),
                    coalesce(${change.content ?? null}, content), coalesce(${change.tags ?? null}::text[], tags))
            returning entry_id`
          if (rows.length > 0) yield* settleTrust(id)
          return yield* find(projectId, id)
        }),
      )
    }),

    /** Vouched for. Where it had been already, whoever did so first stays. */
    approve: Effect.fnUntraced(function* (projectId: string, id: number, by: string) {
      return yield* sql.transaction(
        Effect.gen(function* () {
          yield* trustLock(projectId)
          yield* sql`
            update memory_entries
               set trust_state = 'approved', approved_by = ${by}, approved_at = now(), updated_at = now()
             where project_id = ${projectId} and entry_id = ${id} and trust_state <> 'approved'`
          yield* settleTrust(id)
          return yield* find(projectId, id)
        }),
      )
    }),

    ...sources,
  }
}

export type EntryStore = ReturnType<typeof makeEntryStore>
