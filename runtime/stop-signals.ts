/**
 * Ctrl-C and SIGTERM. npm passes on what the terminal sent already, so one Ctrl-C comes twice, and a process that listens
 * once would be ended in the middle of stopping. Only somebody who asks again some seconds later wants it at once.
 */
import { constants } from "node:os"
import { Clock, Deferred, Duration, Effect, type Scope } from "effect"

const signals = ["SIGINT", "SIGTERM"] as const

/** From the first signal until another one is meant to end the process at once. */
const patience = Duration.seconds(5)

export interface StopSignal {
  /** Waits for the first signal. */
  readonly asked: Effect.Effect<void>
}

/** Listens while the scope is open, from now on. */
export const stopSignal: Effect.Effect<StopSignal, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const asked = yield* Deferred.make<void>()
  let first: number | undefined
  const heard = (signal: (typeof signals)[number]): void => {
    const now = clock.currentTimeMillisUnsafe()
    first ??= now
    if (now - first >= Duration.toMillis(patience)) process.exit(128 + constants.signals[signal])
    Deferred.doneUnsafe(asked, Effect.void)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      for (const signal of signals) process.on(signal, heard)
    }),
    () =>
      Effect.sync(() => {
        for (const signal of signals) process.off(signal, heard)
      }),
  )
  return { asked: Deferred.await(asked) }
})
