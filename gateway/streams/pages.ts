/** Writes a long list of events as one JSON array, page by page: no more than two pages are in memory. */
import type { ServerResponse } from "node:http"
import { Effect } from "effect"
import type { TextPage } from "#core/event-log/reader.ts"
import type { EventLogShape } from "#core/event-log.ts"

const pageSize = 1_000

const headers = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
}

interface Wanted {
  readonly after: number
  readonly limit: number
  readonly type?: string | undefined
}

/**
 * `read` are the pages that are there already. Where a later page cannot be read the response is cut:
 * a client then sees a broken transfer and no list that looks whole.
 */
export const pageWriter = (
  log: Pick<EventLogShape, "text">,
  runId: string,
  wanted: Wanted,
  read: ReadonlyArray<TextPage>,
  outgoing: ServerResponse,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    outgoing.writeHead(200, headers)
    outgoing.write("[")
    let left = wanted.limit
    let last = wanted.after
    let separator = ""
    const write = Effect.fnUntraced(function* (page: TextPage) {
      const flowing = outgoing.write(separator + page.text)
      separator = ","
      left -= page.count
      last = page.last
      if (!flowing) yield* drained(outgoing)
    })
    for (const page of read) yield* write(page)
    while (left > 0 && !outgoing.destroyed) {
      const page = yield* log.text(runId, "envelopes", { ...wanted, after: last, limit: Math.min(left, pageSize) })
      if (page.count === 0) break
      yield* write(page)
    }
    outgoing.end("]")
  }).pipe(Effect.catchCause(() => Effect.sync(() => void outgoing.destroy())))

const drained = (outgoing: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (outgoing.destroyed || !outgoing.writableNeedDrain) return resume(Effect.void)
    const go = () => {
      outgoing.off("drain", go)
      outgoing.off("close", go)
      resume(Effect.void)
    }
    outgoing.on("drain", go)
    outgoing.on("close", go)
    return Effect.sync(() => {
      outgoing.off("drain", go)
      outgoing.off("close", go)
    })
  })
