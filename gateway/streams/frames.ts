/**
 * Server-sent event frames (WHATWG HTML, "Server-sent events"): `id` is the sequence, `event` the type,
 * `data` the payload alone. Whatever the number of subscribers, a batch of events is encoded once.
 */
import type { StoredEvent } from "#core/event.ts"

const encoded = new WeakMap<ReadonlyArray<StoredEvent>, Buffer>()

/** The frames of events that the hub handed over together: the same array gives the same bytes. */
export const framesOf = (events: ReadonlyArray<StoredEvent>): Buffer => {
  const known = encoded.get(events)
  if (known !== undefined) return known
  let text = ""
  for (const event of events) text += `id: ${event.sequence}\nevent: ${event.type}\ndata: ${event.payload}\n\n`
  const bytes = Buffer.from(text)
  encoded.set(events, bytes)
  return bytes
}

/** Ends a stream for good: the client need not come back. It has no id, so that a cursor stays what it was. */
export const doneFrame = "event: done\ndata: {}\n\n"

/** Keeps proxies and clients from giving up on a quiet stream. */
export const heartbeatFrame = ": alive\n\n"

/** Says why a stream ends before its run does. */
export const errorFrame = (message: string): string => `event: error\ndata: ${message.replace(/[\r\n]+/g, " ")}\n\n`
