/**
 * A stream that failed before its first part is begun again, after a pause that grows and is never the same
 * for two; afterwards it is not, since what was said would be said twice. The pause is as long as the provider
 * asks for, unless that is longer than anybody waits.
 */
import { Duration, Effect, Random, Stream } from "effect"
import type { ModelFailed } from "#core/wire/model.ts"
import type { AttemptFailed } from "#runtime/model/provider/failure.ts"

const firstPause = Duration.millis(500)
const longestPause = Duration.seconds(30)
/** All pauses of one request together. */
const longestWait = Duration.minutes(3)

/** Milliseconds after the try of this number, from 1; `chance` is between 0 and 1. */
export const pauseAfter = (attempt: number, chance: number, retryAfter: number | null): number => {
  const most = Math.min(Duration.toMillis(firstPause) * 2 ** (attempt - 1), Duration.toMillis(longestPause))
  const own = most / 2 + (most / 2) * chance
  return retryAfter === null ? own : Math.max(retryAfter + own / 10, own)
}

export const retried = <A>(
  stream: Stream.Stream<A, AttemptFailed>,
  maxAttempts: number,
): Stream.Stream<A, ModelFailed> => {
  const from = (attempt: number, waited: number): Stream.Stream<A, ModelFailed> =>
    Stream.suspend(() => {
      let begun = false
      return stream.pipe(
        Stream.tap(() => Effect.sync(() => (begun = true))),
        Stream.catch(({ failed, retryAfter }) => {
          if (begun || !failed.retryable || attempt >= maxAttempts) return Stream.fail(failed)
          return Stream.unwrap(
            Effect.gen(function* () {
              const pause = pauseAfter(attempt, yield* Random.next, retryAfter)
              if (waited + pause > Duration.toMillis(longestWait)) return Stream.fail(failed)
              yield* Effect.logInfo(`${failed.message} Trying again.`).pipe(Effect.annotateLogs({ attempt }))
              yield* Effect.sleep(pause)
              return from(attempt + 1, waited + pause)
            }),
          )
        }),
      )
    })
  return from(1, 0)
}
