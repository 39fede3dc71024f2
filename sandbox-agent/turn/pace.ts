/** Lets pieces of text through as they come, but joined, so that there are not too many of them. */
import { Clock, Duration, Effect, type Scope, Semaphore } from "effect"

/** At most 20 pieces a second. */
const pause = Duration.millis(50)
/** Characters that are not held back any longer. */
const enough = 8_192

export interface Paced<E> {
  readonly push: (text: string) => Effect.Effect<void, E>
  readonly flush: Effect.Effect<void, E>
}

/** What is held back goes out when the pause is over, also where nothing more comes; flush it at the end. */
export const makePaced = Effect.fnUntraced(function* <E>(
  emit: (text: string) => Effect.Effect<void, E>,
): Effect.fn.Return<Paced<E>, never, Scope.Scope> {
  let held = ""
  let last = Number.NEGATIVE_INFINITY
  const oneAtATime = Semaphore.makeUnsafe(1)
  const flush = oneAtATime.withPermits(1)(
    Effect.suspend(() => {
      if (held === "") return Effect.void
      const text = held
      held = ""
      return Effect.andThen(
        Effect.map(Clock.currentTimeMillis, (now) => {
          last = now
        }),
        emit(text),
      )
    }),
  )
  // a failure here is seen again by the next push or flush
  yield* Effect.sleep(pause).pipe(Effect.andThen(flush), Effect.ignore, Effect.forever, Effect.forkScoped)
  const push = Effect.fnUntraced(function* (text: string) {
    held += text
    const now = yield* Clock.currentTimeMillis
    if (held.length >= enough || now - last >= Duration.toMillis(pause)) yield* flush
  })
  return { push, flush }
})
