/**
 * What an event is, and how a kind of event is declared: a name, a payload schema, an owner.
 *
 * The payload is turned into JSON text once, when it is appended, and stays text from there to the
 * subscriber's socket: nothing parses it again on the way.
 */
import { Schema } from "effect"
import { boundedText } from "#core/payload.ts"

/** One stored event of a run. `payload` is JSON text, already encoded, redacted and bounded. */
export interface StoredEvent {
  readonly runId: string
  /** Per run: 1, 2, 3, … without gaps. The only ordering key; `timestamp` is informational. */
  readonly sequence: number
  readonly type: string
  /** ISO 8601, UTC. */
  readonly timestamp: string
  readonly payload: string
}

/** A declared kind of event. */
export interface EventType<Payload = never> {
  readonly type: string
  readonly payload: Schema.Codec<Payload, unknown>
  /** True where the event may be the last of its run: a stream then asks whether the run has ended. */
  readonly mayEndRun: boolean
  /** An event of this type, ready to be appended. `payload` is encoded and bounded here. */
  readonly of: (payload: Payload) => NewEvent
}

/** An event on its way into the log. */
export interface NewEvent {
  readonly type: string
  readonly payload: string
  readonly mayEndRun: boolean
  /**
   * Names this event for replays: an append of the same run, type, payload and key gives the first
   * event back; the same key with another payload is a conflict. Absent: every append is a new event.
   */
  readonly replayKey?: string
}

export const defineEvent = <Payload>(
  type: string,
  payload: Schema.Codec<Payload, unknown>,
  options: { readonly mayEndRun?: boolean } = {},
): EventType<Payload> => {
  const encode = Schema.encodeUnknownSync(payload)
  const mayEndRun = options.mayEndRun ?? false
  return {
    type,
    payload,
    mayEndRun,
    of: (value) => ({ type, payload: boundedText(encode(value)), mayEndRun }),
  }
}

/** The same event, named for replays. */
export const withReplayKey = (event: NewEvent, replayKey: string): NewEvent => ({ ...event, replayKey })

/** The event as the interface's envelope, still as text: no payload is parsed to build it. */
export const envelopeText = (event: StoredEvent): string =>
  `{"runId":${JSON.stringify(event.runId)},"sequence":${event.sequence},"type":${JSON.stringify(event.type)},` +
  `"timestamp":"${event.timestamp}","payload":${event.payload}}`
