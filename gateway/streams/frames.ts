/**
 * Server-sent event frames (WHATWG HTML, "Server-sent events"): `id` is the sequence, `event` the type,
 * `data` the payload alone. Whatever the number of subscribers, a batch of events is encoded once.
 */
import type { StoredEvent } from "#core/event.ts"
import { type Encoded, encodeFrames } from "#gateway/streams/outlet.ts"

export interface Batch extends Encoded {
  /** True where one of the events may be the last of its run. */
  readonly mayEnd: boolean
}

const batches = new WeakMap<ReadonlyArray<StoredEvent>, Batch>()

/** Events that the hub handed over together, ready to be written: the same array gives the same bytes. */
export const batchOf = (events: ReadonlyArray<StoredEvent>, endings: ReadonlySet<string>): Batch => {
  const known = batches.get(events)
  if (known !== undefined) return known
  let text = ""
  let mayEnd = false
  for (const { sequence, type, payload } of events) {
    text += `id: ${sequence}\nevent: ${type}\ndata: ${payload}\n\n`
    mayEnd ||= endings.has(type)
  }
  const batch = { ...encodeFrames(text), mayEnd }
  batches.set(events, batch)
  return batch
}

/** Ends a stream for good: the client need not come back. It has no id, so that a cursor stays what it was. */
export const doneFrame = "event: done\ndata: {}\n\n"

/** Keeps proxies and clients from giving up on a quiet stream. */
export const heartbeatFrame = ": alive\n\n"

/** Says why a stream ends before its run does. */
export const errorFrame = (message: string): string => `event: error\ndata: ${message.replace(/[\r\n]+/g, " ")}\n\n`
