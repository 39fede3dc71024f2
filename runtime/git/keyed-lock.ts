/** One at a time for each key, in this process. */
import { Effect, Semaphore } from "effect"

export type KeyedLock = (key: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export const makeKeyedLock = (): KeyedLock => {
  const locks = new Map<string, { readonly turn: Semaphore.Semaphore; users: number }>()
  return (key) => (effect) =>
    Effect.suspend(() => {
      const lock = locks.get(key) ?? { turn: Semaphore.makeUnsafe(1), users: 0 }
      locks.set(key, lock)
      lock.users += 1
      return lock.turn
        .withPermits(1)(effect)
        .pipe(
          Effect.ensuring(
            Effect.sync(() => {
              lock.users -= 1
              if (lock.users === 0) locks.delete(key)
            }),
          ),
        )
    })
}
