/**
 * How busy this replica is. Past its bounds new requests are turned away at once, so that those already
 * inside are finished: a queue without a bound would make all of them late.
 */
import { Duration, Effect, type Scope } from "effect"

/** Requests in work at a time; open streams do not count. */
const maxInFlight = 1_000
const lagPeriod = Duration.millis(250)
/** A tick that is this late is a bad one … */
const lateTick = Duration.millis(500)
/** … and so many in a row mean that the event loop has more than it can do. One pause does not. */
const lateTicks = 3

export interface Load {
  /** Takes a place; false where there is none. Every place taken is given back by `leave`. */
  readonly enter: () => boolean
  readonly leave: () => void
  readonly inFlight: () => number
}

/** Without a watched event loop: for tests, and the base of `watchedLoad`. */
export const makeLoad = (bound: number = maxInFlight, isLate: () => boolean = () => false): Load => {
  let inFlight = 0
  return {
    enter: () => {
      if (inFlight >= bound || isLate()) return false
      inFlight++
      return true
    },
    leave: () => {
      inFlight--
    },
    inFlight: () => inFlight,
  }
}

export const watchedLoad: Effect.Effect<Load, never, Scope.Scope> = Effect.gen(function* () {
  let late = 0
  let last = performance.now()
  const tick = () => {
    const now = performance.now()
    late = now - last > Duration.toMillis(lagPeriod) + Duration.toMillis(lateTick) ? late + 1 : 0
    last = now
  }
  yield* Effect.acquireRelease(
    // a timer of Node: what is measured is Node's own event loop
    Effect.sync(() => setInterval(tick, Duration.toMillis(lagPeriod)).unref()),
    (timer) => Effect.sync(() => clearInterval(timer)),
  )
  return makeLoad(maxInFlight, () => late >= lateTicks)
})
