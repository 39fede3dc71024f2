/** Instances opened before the first question: right after an exchange nobody waits for one to open, which counts against the answer. */
import { Effect, type Scope } from "effect"
import type { Member } from "#runtime/plugin-host/packages/pool.ts"
import type { Spare } from "#runtime/plugin-host/packages/spare.ts"

/** Opens `count` now, by `open`, and hands these out first; then opens by `later`. Those that were never taken are closed with the scope. */
export const withReady = Effect.fnUntraced(function* <Ask, Answer, E>(
  count: number,
  open: Effect.Effect<Member<Ask, Answer>, E>,
  later: Effect.Effect<Member<Ask, Answer>, E>,
): Effect.fn.Return<Spare<Ask, Answer, E>, E, Scope.Scope> {
  const ready: Array<Member<Ask, Answer>> = []
  yield* Effect.addFinalizer(() => Effect.forEach(ready.splice(0), ({ close }) => close, { discard: true }))
  const one = Effect.uninterruptible(Effect.tap(open, (member) => Effect.sync(() => ready.push(member))))
  yield* Effect.all(
    Array.from({ length: count }, () => one),
    { concurrency: "unbounded", discard: true },
  )
  const next = Effect.suspend(() => {
    const member = ready.pop()
    // it may have died while it waited
    return member === undefined || member.spent() ? later : Effect.succeed(member)
  })
  return { open: next }
})
