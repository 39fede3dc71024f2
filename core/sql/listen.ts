/**
 * LISTEN on one connection for all channels. It connects when the first channel is asked for, and again
 * whenever the connection is lost; a silent server is found out by asking it something now and then.
 */
import { Duration, Effect, Exit, type Scope } from "effect"
import { unavailable } from "#core/sql/failure.ts"
import { openSession, type Session, type SessionOptions } from "#core/sql/session.ts"

export interface Listener {
  readonly listen: (
    channel: string,
    onMessage: (payload: string) => void,
    onListening: () => void,
  ) => Effect.Effect<void, never, Scope.Scope>
}

interface Channel {
  readonly name: string
  readonly onMessage: (payload: string) => void
  readonly onListening: () => void
}

/** Pause before the next attempt to connect: doubled with each failure, jittered down to its half. */
const firstPauseMillis = 50
const longestPauseMillis = 2_000
/** How often a quiet connection is asked whether it still works. */
const probeMillis = 5_000

export const makeListener = Effect.fnUntraced(function* (options: Omit<SessionOptions, "onLost" | "onNotification">) {
  const channels = new Set<Channel>()
  const millis = Duration.toMillis(options.deadline)
  let session: Session | undefined
  let connecting = false
  let failures = 0
  let retry: NodeJS.Timeout | undefined
  let closed = false

  const connect = (): void => {
    if (closed || connecting || session !== undefined || channels.size === 0) return
    connecting = true
    openSession(
      {
        ...options,
        onNotification: (name, payload) => {
          for (const channel of channels) if (channel.name === name) channel.onMessage(payload)
        },
        onLost: connectLater,
      },
      (opened) => {
        connecting = false
        if (Exit.isFailure(opened)) return
        if (closed) return opened.value.close()
        session = opened.value
        for (const name of new Set([...channels].map((channel) => channel.name))) begin(opened.value, name)
      },
    )
  }

  const connectLater = (): void => {
    session = undefined
    if (closed) return
    clearTimeout(retry)
    const pause = Math.min(firstPauseMillis * 2 ** failures++, longestPauseMillis)
    retry = setTimeout(connect, pause * (0.5 + Math.random() / 2))
    retry.unref()
  }

  const begin = (on: Session, name: string): void => {
    on.script(`listen ${quoted(name)}`, millis, (outcome) => {
      if (Exit.isFailure(outcome)) return on.lose(unavailable("connection_lost"))
      failures = 0
      for (const channel of channels) if (channel.name === name) channel.onListening()
    })
  }

  const probe = setInterval(() => session?.script("select 1", millis, () => {}), probeMillis)
  probe.unref()

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closed = true
      clearInterval(probe)
      clearTimeout(retry)
      session?.close()
    }),
  )

  const listen: Listener["listen"] = (name, onMessage, onListening) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const channel: Channel = { name, onMessage, onListening }
        channels.add(channel)
        if (session === undefined) connect()
        else begin(session, name)
        return channel
      }),
      (channel) =>
        Effect.sync(() => {
          channels.delete(channel)
          const stillUsed = [...channels].some((other) => other.name === name)
          if (!stillUsed) session?.script(`unlisten ${quoted(name)}`, millis, () => {})
        }),
    ).pipe(Effect.asVoid)

  return { listen } satisfies Listener
})

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
