/**
 * One subscriber's stream: replays from the cursor, joins the live feed, and goes back to replaying
 * when its socket is slow. It never skips an event; a socket that takes nothing for too long is cut,
 * and the client resumes with its `Last-Event-ID`.
 */
import type { ServerResponse } from "node:http"
import { Duration, Effect, Fiber } from "effect"
import type { StoredEvent } from "#core/event.ts"
import type { EventLogShape } from "#core/event-log.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"
import { batchOf, doneFrame, errorFrame, heartbeatFrame } from "#gateway/streams/frames.ts"
import { makeOutlet } from "#gateway/streams/outlet.ts"

/** Bytes that may wait in one socket before the session stops feeding it. */
const unsentBytes = 1_048_576
/** How long a socket may take nothing before it is cut. */
const patience = Duration.seconds(30)
/** How long a session waits for a database that does not answer before it asks again. */
const retryPause = Duration.seconds(1)
const pageSize = 1_000

/** What a session needs to know of the world. */
export interface SessionWorld {
  readonly log: Pick<EventLogShape, "text" | "join" | "remembers">
  /** `live`, `ended` (no further event will come), or `gone` (deleted). */
  readonly lifeOf: (streamId: string) => Effect.Effect<"live" | "ended" | "gone", DatabaseUnavailable>
  /** Types that may be the last of a run. */
  readonly endings: ReadonlySet<string>
  /** A slow reader was cut off. */
  readonly onCut: () => void
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

export interface Session {
  readonly streamId: string
  /** A comment, where nothing was written since the last call. */
  readonly heartbeat: () => void
  /** Ends the response without `done`: the client reconnects, here or at another replica. */
  readonly handOver: () => void
  /** Ends the response for a reason the client is told. */
  readonly refuse: (message: string) => void
}

export const openSession = (
  world: SessionWorld,
  streamId: string,
  after: number,
  outgoing: ServerResponse,
  onClosed: () => void,
): Session => {
  let cursor = after
  let leave: (() => void) | undefined
  let worker: Fiber.Fiber<void> | undefined
  let working = false
  let again = false
  let closed = false
  let quiet = true

  const outlet = makeOutlet(outgoing)

  const stopListening = (): void => {
    leave?.()
    leave = undefined
  }

  const close = (last?: string): void => {
    if (closed) return
    closed = true
    stopListening()
    outgoing.end(last)
    if (worker !== undefined) Effect.runFork(Fiber.interrupt(worker))
    onClosed()
  }

  const cut = (): void => {
    world.onCut()
    outgoing.destroy()
  }

  const drained = outlet.drained.pipe(Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.sync(cut) }))

  const onEvents = (events: ReadonlyArray<StoredEvent>): void => {
    const batch = batchOf(events, world.endings)
    cursor = events.at(-1)?.sequence ?? cursor
    quiet = false
    outlet.writeEncoded(batch)
    const keepsUp = outlet.unsent() <= unsentBytes
    if (!keepsUp) stopListening()
    if (!keepsUp || batch.mayEnd) work()
  }

  const replay = Effect.gen(function* () {
    while (true) {
      const page = yield* world.log.text(streamId, "frames", { after: cursor, limit: pageSize })
      if (page.count === 0) return
      cursor = page.last
      quiet = false
      outlet.write(page.text)
      if (outlet.unsent() > unsentBytes) yield* drained
    }
  })

  // ends where the session is live or closed
  const catchUp: Effect.Effect<void> = Effect.gen(function* () {
    while (!closed) {
      if (leave === undefined) {
        yield* drained
        if (!world.log.remembers(streamId, cursor)) yield* replay
        const joined = world.log.join(streamId, cursor, onEvents)
        if (joined === "behind") continue
        leave = joined
      }
      const life = yield* world.lifeOf(streamId)
      if (life === "live") return
      // what was appended before the end is drained before the end is told
      stopListening()
      yield* replay
      yield* drained
      close(life === "ended" ? doneFrame : errorFrame("The run was deleted."))
    }
  }).pipe(Effect.catchTag("DatabaseUnavailable", (): Effect.Effect<void> => Effect.delay(catchUp, retryPause)))

  // a request to work that comes while working asks for another round
  const work = (): void => {
    if (closed) return
    again = true
    if (working) return
    working = true
    worker = world.fork(
      Effect.whileLoop({
        while: () => again && !closed,
        body: () => {
          again = false
          return catchUp
        },
        step: () => {},
      }).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            working = false
          }),
        ),
      ),
    )
  }

  outgoing.on("close", () => close())
  work()

  return {
    streamId,
    heartbeat: () => {
      if (quiet && !closed) outlet.write(heartbeatFrame)
      quiet = true
    },
    handOver: () => close(),
    refuse: (message) => close(errorFrame(message)),
  }
}
