/**
 * Decisions that were recorded: `policy.decision` events of a log, or of an export with one event a line. Order is the log's; what
 * cannot be read is an error, not left out.
 */
import { readFile } from "node:fs/promises"
import { Effect, Schema } from "effect"
import { EventLog } from "#core/event-log.ts"
import { PolicyDecision } from "#core/hook/events.ts"
import { Sql } from "#core/sql.ts"
import { kitFailed, whileDoing } from "#runtime/plugin-host/kit/failed.ts"
import { isObject } from "#runtime/plugin-host/kit/folder.ts"

export interface Recorded {
  readonly runId: string
  readonly sequence: number
  readonly decision: Decision
}

export type Decision = typeof PolicyDecision.payload.Type

/** Each line is an event as the interface writes it, `{"runId", "sequence", "type", "payload", …}`; other types are passed over. */
export const recordedInFile = Effect.fn("recordedInFile")(function* (file: string) {
  const text = yield* Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: whileDoing(`${file} cannot be read`),
  })
  const found: Array<Recorded> = []
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    const where = `${file}, line ${at + 1}`
    const event = yield* Effect.try({ try: (): unknown => JSON.parse(line), catch: whileDoing(where) })
    if (!isObject(event) || typeof event.type !== "string") return yield* kitFailed(`${where}: it is no event.`)
    if (event.type !== PolicyDecision.type) continue
    const { runId, sequence } = event
    if (typeof runId !== "string" || typeof sequence !== "number") {
      return yield* kitFailed(`${where}: the event has no runId and sequence.`)
    }
    found.push({ runId, sequence, decision: yield* decode(where, event.payload) })
  }
  return found
})

export interface LogRange {
  /** Only this run; else all. */
  readonly run?: string
  /** Only what was recorded at this moment (ISO 8601) or later. */
  readonly since?: string
}

/** By run, then sequence. Reads page by page, one run at a time. */
export const recordedInLog = Effect.fn("recordedInLog")(function* ({ run, since = "-infinity" }: LogRange) {
  const runs = run === undefined ? yield* runsWithDecisions(since) : [run]
  return (yield* Effect.forEach(runs, (runId) => decisionsOf(runId, since))).flat()
})

const runsWithDecisions = Effect.fnUntraced(function* (since: string) {
  const sql = yield* Sql
  const rows = yield* sql<{ readonly run_id: string }>`
    select distinct run_id collate "C" as run_id from events
    where type = ${PolicyDecision.type} and created_at >= ${since}::timestamptz
    order by 1`
  return rows.map((row) => row.run_id)
})

const decisionsOf = Effect.fnUntraced(function* (runId: string, since: string) {
  const log = yield* EventLog
  const from = since === "-infinity" ? Number.NEGATIVE_INFINITY : Date.parse(since)
  const found: Array<Recorded> = []
  for (let after = 0; ; ) {
    const page = yield* log.read(runId, { after, type: PolicyDecision.type })
    const last = page.at(-1)
    if (last === undefined) return found
    after = last.sequence
    for (const { sequence, timestamp, payload } of page) {
      if (Date.parse(timestamp) < from) continue
      found.push({ runId, sequence, decision: yield* decode(`${runId} ${sequence}`, JSON.parse(payload)) })
    }
  }
})

const decodeDecision = Schema.decodeUnknownEffect(PolicyDecision.payload)

const decode = (where: string, payload: unknown) =>
  Effect.mapError(decodeDecision(payload), (error) => kitFailed(`${where}: ${error.message}`))
