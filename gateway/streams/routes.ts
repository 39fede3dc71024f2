/** The two ways to read a run's events over HTTP: the live stream and the persisted events. */
import { Effect, Schema } from "effect"
import { EventLog, type EventLogShape } from "#core/event-log.ts"
import { runIdOf } from "#core/ids.ts"
import { query } from "#core/query.ts"
import { refuseInput } from "#core/refusal.ts"
import { access, type Exchange, reply, route } from "#core/route.ts"
import { pageWriter } from "#gateway/streams/pages.ts"
import { Streams } from "#gateway/streams/streams.ts"

const tag = "Events"

/** Rows that are asked for at once; a request without a limit is answered in pages of this size. */
const pageSize = 1_000

const EventEnvelope = Schema.Struct({
  runId: Schema.String,
  sequence: Schema.Int,
  type: Schema.String,
  timestamp: Schema.String,
  payload: Schema.Record(Schema.String, Schema.Unknown),
})

const EventsQuery = Schema.Struct({
  after: Schema.optionalKey(query.int({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  limit: Schema.optionalKey(query.int({ minimum: 1, maximum: 1_000 })),
  type: Schema.optionalKey(query.text(128)),
})

/** The cursor of a reconnecting client: decimal digits only. Absent: from the beginning. */
const lastEventId = (headers: Headers): number | undefined => {
  const text = headers.get("last-event-id")
  if (text === null || text === "") return 0
  const cursor = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(cursor) ? cursor : undefined
}

/** The run that the path's run or sub-stream belongs to; the gateway has let no other form through. */
const runOf = (streamId: string): string => runIdOf(streamId) ?? streamId

const badCursor = refuseInput([{ path: "headers.last-event-id", message: "Expected the sequence of an event" }])

export const streamRoutes = Effect.gen(function* () {
  const log = yield* EventLog
  const streams = yield* Streams
  return [
    route<{ id: string }>({
      method: "GET",
      path: "/api/runs/{id}/stream",
      access: access.run("viewer", { subStreams: true }),
      summary: "The run's events as server-sent events, from `Last-Event-ID` on",
      tag,
      contentType: "text/event-stream",
      handle: Effect.fn("streams.open")(function* ({ params, caller, headers }) {
        const after = lastEventId(headers)
        if (after === undefined) return yield* badCursor
        return reply.socket(yield* streams.open(caller, runOf(params.id), params.id, after))
      }),
    }),
    route<{ id: string }, typeof EventsQuery.Type, undefined, ReadonlyArray<typeof EventEnvelope.Type>>({
      method: "GET",
      path: "/api/runs/{id}/events",
      access: access.run("viewer", { subStreams: true }),
      summary: "The run's persisted events, ascending by sequence",
      tag,
      query: EventsQuery,
      answer: Schema.Array(EventEnvelope),
      handle: Effect.fn("events.list")(function* ({ params, query: { after = 0, limit, type } }) {
        return yield* persisted(log, params.id, { after, limit: limit ?? Number.POSITIVE_INFINITY, type })
      }),
    }),
  ]
})

/** Most answers are one page. A longer one is written page by page, as fast as the socket takes it. */
const persisted = Effect.fnUntraced(function* (
  log: EventLogShape,
  runId: string,
  wanted: { readonly after: number; readonly limit: number; readonly type?: string | undefined },
) {
  const first = yield* log.text(runId, "envelopes", { ...wanted, limit: Math.min(wanted.limit, pageSize) })
  const left = wanted.limit - first.count
  const next =
    left > 0 && first.count > 0
      ? yield* log.text(runId, "envelopes", { ...wanted, after: first.last, limit: Math.min(left, pageSize) })
      : undefined
  if (next === undefined || next.count === 0) return reply.text(`[${first.text}]`, "application/json; charset=utf-8")
  const run = Effect.runForkWith(yield* Effect.context<never>())
  return reply.socket((exchange: Exchange) => {
    run(pageWriter(log, runId, wanted, [first, next], exchange.outgoing))
  })
})
