/**
 * Reads the log: as events, or as text that is ready to be sent. Always `sequence > cursor order by
 * sequence`, which with gapless sequences and the run's lock held until commit cannot skip anything.
 */
import { Effect } from "effect"
import type { StoredEvent } from "#core/event.ts"
import type { Want } from "#core/event-log/hub.ts"
import type { SqlShape } from "#core/sql.ts"

/** Rows of one page at most, whatever the caller's limit. */
export const pageRows = 1_000
/** Characters after which a text page ends, so that a page of large payloads does not fill the memory. */
const pageCharacters = 1_048_576
/** Events read for one feed at a time when the hub catches up. */
export const catchUpRows = 500

export interface PageOptions {
  readonly after: number
  readonly limit: number
  readonly type?: string | undefined
}

/** `frames`: SSE frames, one after the other. `envelopes`: JSON objects, separated by commas. */
export type TextLayout = "frames" | "envelopes"

export interface TextPage {
  readonly text: string
  readonly count: number
  /** The last sequence in the page; `after` where it is empty. */
  readonly last: number
}

export interface Reader {
  readonly page: (runId: string, options: PageOptions) => ReturnType<typeof readPage>
  readonly text: (runId: string, layout: TextLayout, options: PageOptions) => ReturnType<typeof readText>
  readonly catchUp: (wants: ReadonlyArray<Want>) => ReturnType<typeof readWanted>
}

export const makeReader = (sql: SqlShape): Reader => ({
  page: (runId, options) => readPage(sql, runId, options),
  text: (runId, layout, options) => readText(sql, runId, layout, options),
  catchUp: (wants) => readWanted(sql, wants),
})

interface EventRow {
  readonly run_id: string
  readonly sequence: number
  readonly type: string
  readonly payload: string
  readonly created_at: string
}

const toEvent = (row: EventRow): StoredEvent => ({
  runId: row.run_id,
  sequence: row.sequence,
  type: row.type,
  timestamp: row.created_at,
  payload: row.payload,
})

const readPage = Effect.fnUntraced(function* (sql: SqlShape, runId: string, { after, limit, type }: PageOptions) {
  const rows = yield* sql<EventRow>`
    select run_id, sequence, type, payload::text as payload, created_at
      from events
     where run_id = ${runId} and sequence > ${after} ${ofType(sql, type)}
     order by sequence
     limit ${Math.min(limit, pageRows)}`
  return rows.map(toEvent)
})

const readText = Effect.fnUntraced(function* (
  sql: SqlShape,
  runId: string,
  layout: TextLayout,
  { after, limit, type }: PageOptions,
) {
  const [row] = yield* sql<{ text: string | null; count: number; last: number | null }>`
    select string_agg(text, ${layout === "frames" ? "" : ","} order by sequence) as text,
           count(*)::int as count, max(sequence) as last
      from (
        select sequence, text, sum(length(text)) over (order by sequence) - length(text) as before
          from (
            select sequence, ${layout === "frames" ? frameText(sql) : envelopeText(sql)} as text
              from events
             where run_id = ${runId} and sequence > ${after} ${ofType(sql, type)}
             order by sequence
             limit ${Math.min(limit, pageRows)}
          ) page
      ) sized
     where before < ${pageCharacters}`
  return { text: row?.text ?? "", count: row?.count ?? 0, last: row?.last ?? after } satisfies TextPage
})

const readWanted = Effect.fnUntraced(function* (sql: SqlShape, wants: ReadonlyArray<Want>) {
  const rows = yield* sql<EventRow>`
    select e.run_id, e.sequence, e.type, e.payload, e.created_at
      from unnest(${wants.map((w) => w.runId)}::text[], ${wants.map((w) => w.after)}::bigint[]) as w(run_id, after)
     cross join lateral (
       select run_id, sequence, type, payload::text as payload, created_at
         from events
        where run_id = w.run_id and sequence > w.after
        order by sequence
        limit ${catchUpRows}
     ) e
     order by e.run_id, e.sequence`
  const byRun = new Map<string, Array<StoredEvent>>()
  for (const row of rows) {
    const events = byRun.get(row.run_id)
    if (events === undefined) byRun.set(row.run_id, [toEvent(row)])
    else events.push(toEvent(row))
  }
  return byRun
})

const ofType = (sql: SqlShape, type: string | undefined) =>
  type === undefined ? sql.fragment`` : sql.fragment`and type = ${type}`

const frameText = (sql: SqlShape) =>
  sql.fragment`'id: ' || sequence || E'\nevent: ' || type || E'\ndata: ' || payload::text || E'\n\n'`

const envelopeText = (sql: SqlShape) =>
  sql.fragment`'{"runId":"' || run_id || '","sequence":' || sequence || ',"type":' || to_json(type)::text
    || ',"timestamp":"' || to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    || '","payload":' || payload::text || '}'`
