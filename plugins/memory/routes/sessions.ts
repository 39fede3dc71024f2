/** Sessions of a project over HTTP. */
import { Effect, Schema } from "effect"
import type { Caller } from "#core/auth/caller.ts"
import { PageOf, pageOf, pageQuery, windowOf } from "#core/page.ts"
import { access, reply, route } from "#core/route.ts"
import { SessionAnswer, sessionAnswer } from "#plugins/memory/answers.ts"
import type { Memory } from "#plugins/memory/memory.ts"
import { ById, field, type Nothing, rowId, tag } from "#plugins/memory/routes/input.ts"
import type { Session } from "#plugins/memory/session-store.ts"

const path = "/api/projects/{id}/sessions"

const fields = { focus_area: field, focus: field, active_issues: field, summary: field, serialized_state: field }
const StartBody = Schema.Struct({ session_id: field, ...fields })
const UpdateBody = Schema.Struct({ ...fields, end: Schema.optionalKey(Schema.NullOr(Schema.Boolean)) })
const ListQuery = Schema.Struct(pageQuery)
const List = PageOf(SessionAnswer)
const BySession = Schema.Struct({ id: Schema.String, sessionId: rowId })
type BySession = typeof BySession.Type

export const sessionRoutes = ({ sessions, authors, foreignText }: Memory) => {
  /** Whether an agent is given what nobody vouched for is noted. */
  const told = Effect.fnUntraced(function* (caller: Caller, given: ReadonlyArray<Session>) {
    if (caller.kind === "run" && given.some(({ trusted }) => !trusted)) yield* foreignText.note(caller.runId)
    return given.map(sessionAnswer)
  })
  const toldOne = Effect.fnUntraced(function* (caller: Caller, session: Session) {
    yield* told(caller, [session])
    return sessionAnswer(session)
  })

  const writes = access.project("contributor", "id", "any")
  const reads = access.project("viewer", "id", "any")

  const start = route<ById, Nothing, typeof StartBody.Type, SessionAnswer>({
    method: "POST",
    path,
    access: writes,
    summary: "Start a session; one that is open ends",
    tag,
    params: ById,
    body: StartBody,
    answer: SessionAnswer,
    statuses: [201],
    refuses: ["conflict"],
    handle: Effect.fn("memory.sessions.start")(function* ({ params, body, caller }) {
      const started = yield* sessions.start(params.id, body, yield* authors.ofCaller(caller))
      return reply.json(201, sessionAnswer(started))
    }),
  })

  const current = route<ById, Nothing, undefined, SessionAnswer>({
    method: "GET",
    path: `${path}/current`,
    access: reads,
    summary: "The open session",
    tag,
    params: ById,
    answer: SessionAnswer,
    handle: Effect.fn("memory.sessions.current")(function* ({ params, caller }) {
      return yield* toldOne(caller, yield* sessions.open(params.id))
    }),
  })

  const updateCurrent = route<ById, Nothing, typeof UpdateBody.Type, SessionAnswer>({
    method: "PUT",
    path: `${path}/current`,
    access: writes,
    summary: "Change or end the open session",
    tag,
    params: ById,
    body: UpdateBody,
    answer: SessionAnswer,
    handle: Effect.fn("memory.sessions.updateCurrent")(function* ({ params, body, caller }) {
      const author = yield* authors.ofCaller(caller)
      return yield* toldOne(caller, yield* sessions.changeOpen(params.id, body, author))
    }),
  })

  const list = route<ById, typeof ListQuery.Type, undefined, typeof List.Type>({
    method: "GET",
    path,
    access: reads,
    summary: "Sessions, newest first",
    tag,
    params: ById,
    query: ListQuery,
    answer: List,
    handle: Effect.fn("memory.sessions.list")(function* ({ params, query, caller }) {
      const window = windowOf(query)
      const rows = yield* told(caller, yield* sessions.list(params.id, window))
      return pageOf(window, rows, window.paged ? yield* sessions.count(params.id) : 0)
    }),
  })

  const update = route<BySession, Nothing, typeof UpdateBody.Type, SessionAnswer>({
    method: "PATCH",
    path: `${path}/{sessionId}`,
    access: writes,
    summary: "Change or end a session",
    tag,
    params: BySession,
    body: UpdateBody,
    answer: SessionAnswer,
    handle: Effect.fn("memory.sessions.update")(function* ({ params, body, caller }) {
      const author = yield* authors.ofCaller(caller)
      return yield* toldOne(caller, yield* sessions.change(params.id, params.sessionId, body, author))
    }),
  })

  return { start, current, updateCurrent, list, update }
}
