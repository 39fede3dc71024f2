/**
 * A wake-up for one waiting fiber. Raised while nobody waits, it makes the next wait return at once;
 * raised many times before that, it still wakes once. What there is to do is kept elsewhere.
 */
import { Effect } from "effect"

export interface Signal {
  readonly raise: () => void
  readonly wait: Effect.Effect<void>
}

export const makeSignal = (): Signal => {
  let raised = false
  let wake: (() => void) | undefined
  return {
    raise: () => {
      raised = true
      wake?.()
    },
    wait: Effect.callback<void>((resume) => {
      const proceed = () => {
        wake = undefined
        raised = false
        resume(Effect.void)
      }
      if (raised) return proceed()
      wake = proceed
      return Effect.sync(() => {
        wake = undefined
      })
    }),
  }
}
