/** Waits for code of a plugin, for so long and no longer. */
import { type Duration, Effect, type Exit, Fiber, type Option, type Scope } from "effect"

/**
 * How the effect ended, or none where it did not in time. Then, and when the caller is interrupted, it is told to
 * stop and left behind in `scope`: an effect that cannot be interrupted holds up nobody. Code that blocks the
 * thread is beyond this.
 */
export const inTime = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  limit: Duration.Duration,
  scope: Scope.Scope,
): Effect.Effect<Option.Option<Exit.Exit<A, E>>, never, R> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkIn(effect, scope, { startImmediately: true })
    return yield* Fiber.await(fiber).pipe(
      Effect.timeoutOption(limit),
      Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe())),
    )
  })
