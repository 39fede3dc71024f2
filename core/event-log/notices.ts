/**
 * Tells other replicas which runs have got further: one coalesced notification after the commits, on a
 * connection of its own, never inside an appending transaction (NOTIFY takes a lock of the whole
 * database until commit). Best effort: a lost notice costs latency, the poll finds the event.
 */
import { Duration, Effect } from "effect"
import { makeSignal } from "#core/signal.ts"
import type { Connection } from "#core/sql.ts"

export const channel = "svc_events"

/** Commits within this time share a notification. */
const coalesce = Duration.millis(2)
/** A notification carries at most 8,000 bytes; an entry has about 45. */
const entriesPerNotification = 150

export interface Notices {
  /** The run has got as far as `sequence`. */
  readonly tell: (runId: string, sequence: number) => void
}

export const makeNotices = Effect.fnUntraced(function* (connection: Connection, replica: string) {
  const untold = new Map<string, number>()
  const arrival = makeSignal()

  const send = Effect.suspend(() => {
    const entries = [...untold].map(([runId, sequence]) => `${runId}=${sequence}`)
    untold.clear()
    const payloads: Array<string> = []
    for (let i = 0; i < entries.length; i += entriesPerNotification) {
      payloads.push(`${replica} ${entries.slice(i, i + entriesPerNotification).join(" ")}`)
    }
    return connection`select pg_notify(${channel}, p) from unnest(${payloads}::text[]) p`
  })

  yield* arrival.wait.pipe(
    Effect.andThen(send),
    Effect.catchTag("DatabaseUnavailable", () => Effect.void),
    Effect.andThen(Effect.sleep(coalesce)),
    Effect.forever,
    Effect.forkScoped,
  )

  const tell: Notices["tell"] = (runId, sequence) => {
    untold.set(runId, sequence)
    arrival.raise()
  }
  return { tell } satisfies Notices
})

/** What a notification says, unless this replica sent it itself. */
export const readNotice = (
  payload: string,
  replica: string,
): ReadonlyArray<readonly [runId: string, sequence: number]> => {
  const [sender, ...entries] = payload.split(" ")
  if (sender === replica) return []
  return entries.flatMap((entry) => {
    const [runId, sequence] = entry.split("=")
    return runId === undefined || sequence === undefined ? [] : [[runId, Number(sequence)] as const]
  })
}
