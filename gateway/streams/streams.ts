/**
 * The open streams of this replica: heartbeats, a limit, the end of those whose reader lost access,
 * and the hand-over when the service stops. Nothing here asks the database once per stream.
 */
import { Context, Duration, Effect, type Fiber, Layer, Semaphore } from "effect"
import { Access } from "#core/auth/access.ts"
import { type Caller, subjectOf } from "#core/auth/caller.ts"
import { EventLog } from "#core/event-log.ts"
import { Metrics } from "#core/ports/metrics.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import type { Exchange } from "#core/route.ts"
import { runEndings } from "#core/run/events.ts"
import { RunLife } from "#core/run/life.ts"
import { openSession, type Session, type SessionWorld } from "#gateway/streams/session.ts"

/** A quiet stream gets a comment at least this often. */
const heartbeatEvery = Duration.seconds(10)
/** How soon a stream ends whose reader lost the role that opened it. */
const accessEvery = Duration.seconds(20)
/**
 * Pages that are read at a time. A thousand clients that come back at once wait for each other here, and
 * not for the connections that requests need.
 */
const pagesAtOnce = 4
/** Streams that one replica holds at most. */
const maxStreams = 20_000

interface OpenStream {
  readonly session: Session
  readonly runId: string
  readonly caller: Caller
}

const headers = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
  connection: "keep-alive",
}

export class Streams extends Context.Service<
  Streams,
  {
    /** Starts the stream on the exchange; refuses where the replica has as many as it may hold. */
    readonly open: (
      caller: Caller,
      runId: string,
      streamId: string,
      after: number,
    ) => Effect.Effect<(exchange: Exchange) => void, Refusal>
    readonly count: Effect.Effect<number>
    /** Ends every stream without `done`, so that its client reconnects elsewhere. */
    readonly handOver: Effect.Effect<void>
  }
>()("gateway/Streams") {
  static readonly layer = Layer.effect(
    Streams,
    Effect.gen(function* () {
      const log = yield* EventLog
      const life = yield* RunLife
      const access = yield* Access
      const metrics = yield* Metrics
      const streams = new Set<OpenStream>()
      const runFork = Effect.runForkWith(yield* Effect.context<never>())

      yield* Effect.acquireRelease(
        Effect.sync(() => metrics.sampled("svc_stream_subscribers", () => streams.size)),
        (stop) => Effect.sync(stop),
      )

      const reading = yield* Semaphore.make(pagesAtOnce)
      const world: SessionWorld = {
        log: {
          text: (streamId, layout, options) => reading.withPermits(1)(log.text(streamId, layout, options)),
          join: log.join,
          remembers: log.remembers,
        },
        lifeOf: life.of,
        endings: runEndings,
        onCut: () => metrics.count("svc_streams_cut_total"),
        fork: (effect): Fiber.Fiber<void> => runFork(effect),
      }

      yield* Effect.sleep(heartbeatEvery).pipe(
        Effect.andThen(
          Effect.sync(() => {
            for (const { session } of streams) session.heartbeat()
          }),
        ),
        Effect.forever,
        Effect.forkScoped,
      )

      const endForbidden = Effect.gen(function* () {
        const readers = new Map<string, OpenStream[]>()
        for (const stream of streams) {
          const reader = `${stream.runId} ${subjectOf(stream.caller)}`
          const same = readers.get(reader)
          if (same === undefined) readers.set(reader, [stream])
          else same.push(stream)
        }
        // asked together, so that the answers share one query
        yield* Effect.forEach(
          readers.values(),
          Effect.fnUntraced(function* (same) {
            const [first] = same
            if (first === undefined) return
            const held = yield* access.run(first.runId, first.caller)
            if (held.exists && held.role !== null) return
            for (const { session } of same) session.refuse("The run can no longer be read.")
          }),
          { concurrency: "unbounded", discard: true },
        )
      })
      yield* Effect.sleep(accessEvery).pipe(
        Effect.andThen(endForbidden),
        Effect.catchTag("DatabaseUnavailable", () => Effect.void),
        Effect.forever,
        Effect.forkScoped,
      )

      const handOver = Effect.sync(() => {
        for (const { session } of [...streams]) session.handOver()
      })
      yield* Effect.addFinalizer(() => handOver)

      return Streams.of({
        open: Effect.fnUntraced(function* (caller: Caller, runId: string, streamId: string, after: number) {
          if (streams.size >= maxStreams) return yield* refuse("overloaded", { retryAfter: 5 })
          return ({ outgoing }: Exchange) => {
            outgoing.writeHead(200, headers)
            outgoing.flushHeaders()
            const stream: OpenStream = {
              runId,
              caller,
              session: openSession(world, streamId, after, outgoing, () => streams.delete(stream)),
            }
            if (!outgoing.destroyed) streams.add(stream)
          }
        }),
        count: Effect.sync(() => streams.size),
        handOver,
      })
    }),
  )
}
