/** The table `memory_sessions`: what a project works on now, and worked on before. One is open at most: an index says so. */
import { Effect } from "effect"
import { type Fragment, onUniqueViolation, type SqlShape } from "#core/sql.ts"

export interface Session {
  readonly id: number
  readonly sessionId: string
  readonly focusArea: string
  readonly activeIssues: string | null
  readonly summary: string | null
  readonly serializedState: string | null
  /** False: it may hold what strangers wrote, and no agent is told of it. */
  readonly trusted: boolean
  readonly startedAt: string
  readonly updatedAt: string
  readonly endedAt: string | null
}

export interface NewSession {
  readonly sessionId: string
  readonly focusArea: string
  readonly activeIssues: string | null
  readonly summary: string | null
  readonly serializedState: string | null
}

/** Absent: stays as it is. */
export interface SessionChange {
  readonly focusArea?: string | undefined
  readonly activeIssues?: string | null | undefined
  readonly summary?: string | null | undefined
  readonly serializedState?: string | null | undefined
  readonly end?: boolean | undefined
}

/** Who changes a session: a person vouches for it whole, an agent for what it adds, one that read foreign text for nothing. */
export type SessionWriter = "person" | "agent" | "doubtful"

/** Starts of one project that meet are tried again, each behind the other. */
const maxAttempts = 20

export const makeSessionStore = (sql: SqlShape) => {
  const all: Fragment = sql.fragment`
    id, session_id as "sessionId", focus_area as "focusArea", active_issues as "activeIssues", summary,
    serialized_state as "serializedState", trusted, started_at as "startedAt", updated_at as "updatedAt",
    ended_at as "endedAt"`

  const kept = (column: Fragment, value: string | null | undefined): Fragment =>
    value === undefined ? column : sql.fragment`${value}`

  const change = (where: Fragment, { end, ...set }: SessionChange, writer: SessionWriter) =>
    Effect.map(
      sql<Session>`
        update memory_sessions set
            focus_area = coalesce(${set.focusArea ?? null}, focus_area),
            active_issues = ${kept(sql.fragment`active_issues`, set.activeIssues)},
            summary = ${kept(sql.fragment`summary`, set.summary)},
            serialized_state = ${kept(sql.fragment`serialized_state`, set.serializedState)},
            trusted = ${writer === "person"} or (trusted and ${writer === "agent"}), updated_at = now(),
            ended_at = case when ${end === true} then coalesce(ended_at, now()) else ended_at end
         where ${where} returning ${all}`,
      (rows) => rows[0],
    )

  /** Ends the open one. Fails where another start came in between. */
  const replace = Effect.fnUntraced(function* (
    projectId: string,
    session: NewSession,
    trusted: boolean,
    updatedAt?: string,
  ) {
    return yield* sql.transaction(
      Effect.gen(function* () {
        yield* sql`update memory_sessions set ended_at = now() where project_id = ${projectId} and ended_at is null`
        const [row] = yield* sql<Session>`
          insert into memory_sessions (project_id, session_id, focus_area, active_issues, summary, serialized_state,
            trusted, updated_at)
          values (${projectId}, ${session.sessionId}, ${session.focusArea}, ${session.activeIssues}, ${session.summary},
            ${session.serializedState}, ${trusted}, coalesce(${updatedAt ?? null}::timestamptz, now()))
          returning ${all}`
        return row ?? (yield* Effect.die("an insert gave no row"))
      }),
    )
  })

  return {
    /** The new session is the open one. Undefined where the project had a session of that id. */
    start: Effect.fnUntraced(function* (projectId: string, session: NewSession, trusted: boolean, updatedAt?: string) {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const started = yield* replace(projectId, session, trusted, updatedAt).pipe(
          onUniqueViolation("memory_sessions_project_id_session_id_key", () => Effect.succeed("known" as const)),
          onUniqueViolation("memory_sessions_one_open", () => Effect.succeed("again" as const)),
        )
        if (started === "known") return undefined
        if (started !== "again") return started
      }
      return yield* Effect.die("a session could not be started: others were started all the time")
    }),

    current: (projectId: string) =>
      Effect.map(
        sql<Session>`select ${all} from memory_sessions where project_id = ${projectId} and ended_at is null`,
        (rows) => rows[0],
      ),

    updateCurrent: (projectId: string, set: SessionChange, writer: SessionWriter) =>
      change(sql.fragment`project_id = ${projectId} and ended_at is null`, set, writer),

    update: (projectId: string, id: number, set: SessionChange, writer: SessionWriter) =>
      change(sql.fragment`project_id = ${projectId} and id = ${id}`, set, writer),

    list: (projectId: string, window: { readonly limit: number; readonly offset: number }) => sql<Session>`
      select ${all} from memory_sessions where project_id = ${projectId}
       order by id desc limit ${window.limit} offset ${window.offset}`,

    count: (projectId: string) =>
      Effect.map(
        sql<{ readonly count: number }>`
          select count(*)::int as count from memory_sessions where project_id = ${projectId}`,
        (rows) => rows[0]?.count ?? 0,
      ),
  }
}

export type SessionStore = ReturnType<typeof makeSessionStore>
