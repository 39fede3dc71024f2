/**
 * Checks that probes ask for. A probe gets an answer in at most a second, whatever hangs behind it, and
 * however many ask, a check runs once at a time and at most once a second.
 */
import { Clock, Deferred, Duration, Effect, type Scope } from "effect"

/** How long a probe waits; a check that takes longer counts as failed, and is looked at again later. */
const patience = Duration.seconds(1)
/** How long an answer is good for. */
const freshness = Duration.seconds(1)

interface Asked {
  readonly at: number
  readonly outcome: Deferred.Deferred<boolean>
}

export interface Check {
  readonly passes: Effect.Effect<boolean>
}

/** Does `probe` succeed? The probe goes on when whoever asked has left, and ends with the scope. */
export const makeCheck = (probe: Effect.Effect<unknown, unknown>): Effect.Effect<Check, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    let asked: Asked | undefined

    const ask = Effect.fnUntraced(function* (now: number) {
      const outcome = yield* Deferred.make<boolean>()
      asked = { at: now, outcome }
      yield* probe.pipe(
        Effect.exit,
        Effect.flatMap((exit) => Deferred.succeed(outcome, exit._tag === "Success")),
        Effect.forkIn(scope),
      )
      return outcome
    })

    const passes = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const usable =
        asked !== undefined &&
        (!(yield* Deferred.isDone(asked.outcome)) || now - asked.at < Duration.toMillis(freshness))
      const outcome = asked !== undefined && usable ? asked.outcome : yield* ask(now)
      return yield* Deferred.await(outcome).pipe(
        Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.succeed(false) }),
      )
    })
    return { passes }
  })
