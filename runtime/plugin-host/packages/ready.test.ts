import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import type { Member } from "#runtime/plugin-host/packages/pool.ts"
import { withReady } from "#runtime/plugin-host/packages/ready.ts"

/** Counts what is opened and closed; the one of that number cannot be opened. */
const members = (broken = Number.NaN) => {
  const seen = { opened: 0, closed: 0 }
  const dead = new Set<number>()
  const open = Effect.suspend((): Effect.Effect<Member<string, number>, "broken"> => {
    const number = ++seen.opened
    if (number === broken) return Effect.fail("broken")
    return Effect.succeed({
      ask: () => Effect.succeed(number),
      spent: () => dead.has(number),
      close: Effect.sync(() => {
        seen.closed++
      }),
    })
  })
  return { seen, dead, open }
}

describe("instances opened in advance", () => {
  it.effect("are handed out before any other is opened, and closed where nobody took them", () =>
    Effect.gen(function* () {
      const { seen, dead, open } = members()
      const scope = yield* Scope.make()
      const ready = yield* Scope.provide(withReady(3, open, open), scope)
      expect(seen).toEqual({ opened: 3, closed: 0 })
      yield* ready.open
      expect(seen.opened).toBe(3)
      dead.add(2)
      // the second has died meanwhile: one is opened in its place
      const replaced = yield* ready.open
      expect(yield* replaced.ask("")).toBe(4)
      yield* Scope.close(scope, Exit.void)
      expect(seen).toEqual({ opened: 4, closed: 1 })
    }),
  )

  it.effect("are closed where one of them cannot be opened", () =>
    Effect.gen(function* () {
      const { seen, open } = members(2)
      const failure = yield* Effect.flip(Effect.scoped(withReady(2, open, open)))
      expect(failure).toBe("broken")
      expect(seen.closed).toBe(seen.opened - 1)
    }),
  )
})
