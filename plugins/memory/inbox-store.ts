/**
 * The table `memory_inbox`: what agents propose, until somebody who may decides on it. An entry is named by its agent
 * and slug, so that a proposal that is sent again is the same one; another agent's proposal of that slug gets a name of
 * its own. Unique indexes decide all races.
 */
import { Effect } from "effect"
import type { Fragment, SqlShape } from "#core/sql.ts"
import type { Author } from "#plugins/memory/author.ts"
import { makeDecisionStore, sourceOf } from "#plugins/memory/decision-store.ts"
import { kebab } from "#plugins/memory/text.ts"
import type { DecisionType, InboxStatus, SourceKind } from "#plugins/memory/values.ts"

export interface InboxEntry {
  readonly id: number
  readonly agentName: string
  readonly slug: string
  readonly requestedSlug: string
  readonly type: DecisionType
  readonly title: string
  readonly content: string
  readonly rationale: string | null
  readonly status: InboxStatus
  readonly decisionId: number | null
  readonly mergedAt: string | null
  readonly sourceKind: SourceKind
  readonly sourceIdentity: string
  readonly sourceRunId: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export interface Submission {
  readonly agentName: string
  readonly slug: string
  readonly type: DecisionType
  readonly title: string
  readonly content: string
  readonly rationale: string | null
}

export type Submitted =
  | { readonly _tag: "Added" | "Updated"; readonly entry: InboxEntry }
  /** It was merged or rejected, and stays as it was. */
  | { readonly _tag: "Decided"; readonly entry: InboxEntry }

export interface InboxFilter {
  readonly status?: string | undefined
  readonly type?: string | undefined
  readonly agentName?: string | undefined
}

/** Names that are tried for one slug: as many agents would have to have the same name in file names. */
const maxNames = 1_000

export const makeInboxStore = (sql: SqlShape) => {
  const decisions = makeDecisionStore(sql)
  const all: Fragment = sql.fragment`
    entry_id as id, agent_name as "agentName", slug, requested_slug as "requestedSlug", type, title, content, rationale,
    status, decision_id as "decisionId", merged_at as "mergedAt", source_kind as "sourceKind",
    source_identity as "sourceIdentity", source_run_id as "sourceRunId", created_at as "createdAt",
    updated_at as "updatedAt"`

  const only = (projectId: string, { status, type, agentName }: InboxFilter): Fragment => sql.fragment`
    project_id = ${projectId}
    ${status === undefined ? sql.fragment`` : sql.fragment`and status = ${status}`}
    ${type === undefined ? sql.fragment`` : sql.fragment`and type = ${type}`}
    ${agentName === undefined ? sql.fragment`` : sql.fragment`and agent_name = ${agentName}`}`

  const first = <A>(rows: ReadonlyArray<A>): A | undefined => rows[0]

  /** The entry that this agent has under that slug, as it sent it or as it was named. */
  const own = (projectId: string, { agentName, slug }: Submission) =>
    Effect.map(
      sql<InboxEntry>`
        select ${all} from memory_inbox
         where project_id = ${projectId} and agent_name = ${agentName} and (requested_slug = ${slug} or slug = ${slug})
         order by (requested_slug = ${slug}) desc limit 1`,
      first,
    )

  const insert = (projectId: string, entry: Submission, name: string, author: Author) => {
    const { sourceKind, sourceIdentity, sourceRunId } = sourceOf(author)
    return Effect.map(
      sql<InboxEntry>`
        insert into memory_inbox (project_id, agent_name, slug, requested_slug, type, title, content, rationale,
          source_kind, source_identity, source_run_id)
        values (${projectId}, ${entry.agentName}, ${name}, ${entry.slug}, ${entry.type}, ${entry.title},
          ${entry.content}, ${entry.rationale}, ${sourceKind}, ${sourceIdentity}, ${sourceRunId})
        on conflict do nothing returning ${all}`,
      first,
    )
  }

  const update = (id: number, entry: Submission, author: Author) => {
    const { sourceKind, sourceIdentity, sourceRunId } = sourceOf(author)
    return Effect.map(
      sql<InboxEntry>`
        update memory_inbox set type = ${entry.type}, title = ${entry.title}, content = ${entry.content},
          rationale = ${entry.rationale}, source_kind = ${sourceKind}, source_identity = ${sourceIdentity},
          source_run_id = ${sourceRunId}, updated_at = now()
         where entry_id = ${id} and status = 'pending' returning ${all}`,
      first,
    )
  }

  const submit = Effect.fnUntraced(function* (projectId: string, entry: Submission, author: Author) {
    for (let attempt = 0; attempt < maxNames; attempt++) {
      const mine = yield* own(projectId, entry)
      if (mine !== undefined) {
        const updated = yield* update(mine.id, entry, author)
        const outcome: Submitted =
          updated === undefined ? { _tag: "Decided", entry: mine } : { _tag: "Updated", entry: updated }
        return outcome
      }
      const added = yield* insert(projectId, entry, nameOf(entry, attempt), author)
      if (added !== undefined) return { _tag: "Added", entry: added } satisfies Submitted
    }
    return yield* Effect.die("no name was left for an inbox entry")
  })

  /** Of several that decide at once, one finds the entry pending. */
  const decide = (projectId: string, id: number, status: "merged" | "rejected") =>
    Effect.map(
      sql<InboxEntry>`
        update memory_inbox set status = ${status}, updated_at = now(),
               merged_at = case when ${status} = 'merged' then now() end
         where project_id = ${projectId} and entry_id = ${id} and status = 'pending' returning ${all}`,
      first,
    )

  return {
    submit,

    find: (projectId: string, id: number) =>
      Effect.map(
        sql<InboxEntry>`select ${all} from memory_inbox where project_id = ${projectId} and entry_id = ${id}`,
        first,
      ),

    list: (projectId: string, filter: InboxFilter, window: { readonly limit: number; readonly offset: number }) =>
      sql<InboxEntry>`
        select ${all} from memory_inbox where ${only(projectId, filter)}
         order by entry_id desc limit ${window.limit} offset ${window.offset}`,

    count: (projectId: string, filter: InboxFilter) =>
      Effect.map(
        sql<{
          readonly count: number
        }>`select count(*)::int as count from memory_inbox where ${only(projectId, filter)}`,
        (rows) => rows[0]?.count ?? 0,
      ),

    pending: (projectId: string) => sql<InboxEntry>`
      select ${all} from memory_inbox where project_id = ${projectId} and status = 'pending' order by slug collate "C"`,

    isNamed: (projectId: string, slug: string) =>
      Effect.map(
        sql`select from memory_inbox where project_id = ${projectId} and lower(slug) = lower(${slug})`,
        (rows) => rows.length > 0,
      ),

    /** Makes a decision of a pending entry; undefined where it is not pending. `approvedBy`: who vouches for it. */
    merge: Effect.fnUntraced(function* (projectId: string, id: number, approvedBy: string | null) {
      return yield* sql.transaction(
        Effect.gen(function* () {
          const entry = yield* decide(projectId, id, "merged")
          if (entry === undefined) return undefined
          const decision = yield* decisions.insert(projectId, {
            agentName: entry.agentName,
            type: entry.type,
            title: entry.title,
            content: entry.content,
            rationale: entry.rationale,
            tags: [],
            source: entry,
            approvedBy,
          })
          yield* sql`update memory_inbox set decision_id = ${decision.id} where entry_id = ${id}`
          return { ...entry, decisionId: decision.id }
        }),
      )
    }),

    reject: (projectId: string, id: number) => decide(projectId, id, "rejected"),
  }
}

/** `slug`, then `slug--agent`, `slug--agent--2`, … */
const nameOf = ({ slug, agentName }: Submission, attempt: number): string => {
  if (attempt === 0) return slug
  const mine = `${slug}--${kebab(agentName)}`
  return attempt === 1 ? mine : `${mine}--${attempt}`
}

export type InboxStore = ReturnType<typeof makeInboxStore>
