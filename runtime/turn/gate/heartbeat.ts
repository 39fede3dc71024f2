/**
 * Looks after runs that wait for people, wherever their turn was driven: says every 20 s that they still wait, ends
 * what nobody decided in time, and wakes a run that waits for nothing any more. Every replica may do it at once: each
 * heartbeat has a key, each end is appended under the run's row, and to wake a run twice is to wake it once.
 */
import { Duration, Effect } from "effect"
import { withReplayKey } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import type { OpenRequest } from "#core/run/control/open-requests.ts"
import { ToolApprovalPending } from "#core/run/events/control.ts"
import { RunWaits } from "#core/run/waits.ts"
import { makeWorkStore } from "#core/run/work-store.ts"
import { Sql } from "#core/sql.ts"

/** Between two heartbeats of one request. */
const heartbeat = Duration.seconds(20)
/** Between two looks: how late a heartbeat or an expiry may be. */
const sweepEvery = Duration.seconds(5)
/** Runs that are read at once. */
const pageSize = 500
/** Runs that are looked at side by side. */
const concurrency = 4
/** Characters of a request's id that people are shown. */
const displayLength = 8

interface Waiting {
  readonly runId: string
  readonly waitsFor: ReadonlyArray<string>
}

/** `sweep` is one look at every run that waits; it gives those that were woken. */
export const makeSweep = Effect.gen(function* () {
  const sql = yield* Sql
  const log = yield* EventLog
  const waits = yield* RunWaits
  const { wake } = makeWorkStore(sql)
  /** The period of the last heartbeat that this replica saw to, by request: it does not ask the log in vain. */
  let beaten = new Map<string, number>()

  const beat = Effect.fnUntraced(function* (runId: string, { requestId, toolName }: OpenRequest, now: number) {
    const period = Math.floor(now / Duration.toMillis(heartbeat))
    if (toolName === null || beaten.get(requestId) === period) return
    const event = ToolApprovalPending.of({ requestId, displayId: requestId.slice(0, displayLength), toolName })
    yield* log.append(runId, [withReplayKey(event, `pending:${requestId}:${period}`)])
    beaten.set(requestId, period)
  })

  const look = Effect.fnUntraced(function* ({ runId, waitsFor }: Waiting) {
    const { open, now } = yield* waits.expireOverdue(runId)
    yield* Effect.forEach(open, (request) => beat(runId, request, now), { discard: true })
    const waiting = new Set(open.map(({ requestId }) => requestId))
    const goesOn = !waitsFor.every((requestId) => waiting.has(requestId))
    if (goesOn) yield* wake(runId)
    return { runId, goesOn, waiting }
  })

  const page = (after: string | null) => sql<Waiting>`
    select w.run_id as "runId", w.waits_for as "waitsFor"
      from run_work w join runs r using (run_id)
     where cardinality(w.waits_for) > 0 and w.due_at is null and r.ended_at is null
       and (${after}::uuid is null or w.run_id > ${after}::uuid)
     order by w.run_id
     limit ${pageSize}`

  const sweep = Effect.gen(function* () {
    const woken: Array<string> = []
    const stillBeaten = new Map<string, number>()
    let runs = yield* page(null)
    while (runs.length > 0) {
      const looked = yield* Effect.forEach(
        runs,
        // a run that has ended meanwhile waits for nobody
        (run) => look(run).pipe(Effect.catchTag("Refusal", () => Effect.undefined)),
        { concurrency },
      )
      for (const seen of looked) {
        if (seen?.goesOn === true) woken.push(seen.runId)
        for (const requestId of seen?.waiting ?? []) {
          const period = beaten.get(requestId)
          if (period !== undefined) stillBeaten.set(requestId, period)
        }
      }
      runs = runs.length < pageSize ? [] : yield* page(runs.at(-1)?.runId ?? null)
    }
    beaten = stillBeaten
    return woken
  })
  return { sweep }
})

/** Looks again and again, until it is interrupted. A database that does not answer costs one look. */
export const sweepWaits = Effect.gen(function* () {
  const { sweep } = yield* makeSweep
  return yield* sweep.pipe(
    Effect.catchTag("DatabaseUnavailable", () => Effect.void),
    Effect.andThen(Effect.sleep(sweepEvery)),
    Effect.forever,
  )
})
