/** One instance opened in advance, so that who needs one after a fault does not wait for it to open. */
import { Effect, Exit, Fiber, type Scope } from "effect"
import type { Member } from "#runtime/plugin-host/packages/pool.ts"

export interface Spare<Ask, Answer, E> {
  readonly open: Effect.Effect<Member<Ask, Answer>, E>
}

/** Opens like `open`, from the spare where it is ready. The first one is open when this has ended. */
export const withSpare = Effect.fnUntraced(function* <Ask, Answer, E>(
  open: Effect.Effect<Member<Ask, Answer>, E>,
): Effect.fn.Return<Spare<Ask, Answer, E>, E, Scope.Scope> {
  const scope = yield* Effect.scope
  let ended = false
  const ahead = () => Effect.forkIn(Effect.exit(open), scope, { startImmediately: true, uninterruptible: true })
  let spare = yield* ahead()
  const first = yield* Fiber.join(spare)
  if (Exit.isFailure(first)) return yield* Effect.failCause(first.cause)
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      ended = true
      const left = yield* Fiber.join(spare)
      if (Exit.isSuccess(left)) yield* left.value.close
    }),
  )
  const next = Effect.gen(function* () {
    if (ended) return yield* open
    const taken = spare
    spare = yield* ahead()
    const exit = yield* Fiber.join(taken)
    // it may have died while it waited, or never have opened: then one is opened now
    return Exit.isSuccess(exit) && !exit.value.spent() ? exit.value : yield* open
  })
  return { open: Effect.uninterruptible(next) }
})
