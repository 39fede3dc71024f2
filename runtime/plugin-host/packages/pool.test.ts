import { describe, expect, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type Member, makePool, type PoolOptions, PoolRefused } from "#runtime/plugin-host/packages/pool.ts"

interface Call {
  /** When it is asked, in milliseconds. */
  readonly at: number
  /** How long the instance takes. */
  readonly takes: number
  readonly outcome: "answers" | "spends" | "dies"
  /** Given up after so long by whoever asked. */
  readonly givenUp?: number | undefined
}

class Broken extends Error {}

/** Instances that watch themselves: `violations` is what must never happen. */
const watched = () => {
  const violations: Array<string> = []
  const count = { opened: 0, closed: 0 }
  const open = Effect.sync((): Member<Call, string> => {
    count.opened++
    let busy = false
    let spent = false
    let broken = false
    let closed = false
    return {
      ask: ({ takes, outcome }) =>
        Effect.gen(function* () {
          if (busy) violations.push("two calls on one instance")
          if (spent) violations.push("a call on a spent instance")
          if (broken) violations.push("a call on an instance that broke")
          if (closed) violations.push("a call on a closed instance")
          busy = true
          yield* Effect.sleep(takes)
          if (outcome === "spends") spent = true
          if (outcome === "dies") {
            broken = true
            return yield* Effect.die(new Broken())
          }
          return outcome
        }).pipe(
          Effect.onInterrupt(() => Effect.sync(() => (broken = true))),
          Effect.ensuring(Effect.sync(() => (busy = false))),
        ),
      spent: () => spent,
      close: Effect.sync(() => {
        if (closed) violations.push("closed twice")
        if (busy) violations.push("closed while it answers")
        closed = true
        count.closed++
      }),
    }
  })
  return { open, violations, count }
}

const call = (over: Partial<Call> = {}): Call => ({ at: 0, takes: 10, outcome: "answers", ...over })

const wait = Duration.millis(50)
const poolOf = (members: ReturnType<typeof watched>, options: Partial<PoolOptions<Call, string, never>> = {}) =>
  makePool({ open: members.open, size: 2, queue: 3, wait, ...options })

const settle = (fiber: Fiber.Fiber<string, PoolRefused>) => Effect.map(Fiber.await(fiber), Exit.isExit)

const millisUpTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
const Calls = Schema.Array(
  Schema.Struct({
    at: millisUpTo(60),
    takes: millisUpTo(80),
    outcome: Schema.Literals(["answers", "spends", "dies"]),
    givenUp: Schema.UndefinedOr(millisUpTo(80)),
  }),
).check(Schema.isMaxLength(40))
const Sizes = Schema.Struct({
  size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })),
  queue: millisUpTo(5),
})

describe("a pool", () => {
  it.effect.prop(
    "settles every call, gives each instance one call at a time, keeps its bounds, and leaves nothing open",
    [Calls, Sizes],
    ([calls, { size, queue }]) =>
      Effect.gen(function* () {
        const members = watched()
        const scope = yield* Scope.make()
        const pool = yield* Scope.provide(poolOf(members, { size, queue }), scope)
        const fibers = yield* Effect.forEach(calls, (each) => {
          const asked = Effect.andThen(Effect.sleep(each.at), pool.ask(each))
          const limited = each.givenUp === undefined ? asked : Effect.timeout(asked, each.at + each.givenUp)
          return Effect.forkChild(limited, { startImmediately: true })
        })
        for (let now = 0; now <= 400; now += 5) {
          yield* TestClock.adjust(5)
          const { running, waiting, open } = pool.load()
          expect(running).toBeLessThanOrEqual(size)
          expect(open).toBeLessThanOrEqual(size)
          expect(waiting).toBeLessThanOrEqual(queue)
        }
        const exits = yield* Effect.forEach(fibers, Fiber.await)
        expect(exits).toHaveLength(calls.length)
        expect(pool.load()).toMatchObject({ running: 0, waiting: 0 })
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.join(closing)
        expect(members.violations).toEqual([])
        expect(members.count.closed).toBe(members.count.opened)
      }),
    { arbitrary: { runs: 150 } },
  )

  it.effect("refuses a call at once where too many wait, and one that waited too long", () =>
    Effect.gen(function* () {
      const pool = yield* poolOf(watched(), { size: 1, queue: 1 })
      const long = yield* Effect.forkChild(pool.ask(call({ takes: 200 })), { startImmediately: true })
      const waiting = yield* Effect.forkChild(Effect.flip(pool.ask(call())), { startImmediately: true })
      expect(yield* Effect.flip(pool.ask(call()))).toMatchObject({ reason: "full" })
      yield* TestClock.adjust(wait)
      expect(yield* Fiber.join(waiting)).toMatchObject({ reason: "waited" })
      yield* TestClock.adjust(200)
      expect(yield* Fiber.join(long)).toBe("answers")
    }),
  )

  it.effect("serves those who wait in the order in which they came", () =>
    Effect.gen(function* () {
      const pool = yield* poolOf(watched(), { size: 1 })
      const order: Array<number> = []
      const fibers = yield* Effect.forEach([0, 1, 2, 3], (at) =>
        Effect.forkChild(
          Effect.tap(pool.ask(call()), () => Effect.sync(() => order.push(at))),
          {
            startImmediately: true,
          },
        ),
      )
      yield* TestClock.adjust(100)
      yield* Effect.forEach(fibers, settle)
      expect(order).toEqual([0, 1, 2, 3])
    }),
  )

  it.effect("passes a place on where the one who waited for it gives up in the moment of getting it", () =>
    Effect.gen(function* () {
      const pool = yield* poolOf(watched(), { size: 1 })
      const wakes: Array<() => void> = []
      const first = yield* Effect.forkChild(
        Effect.tap(pool.ask(call()), () => Effect.sync(() => wakes.forEach((wake) => void wake()))),
        { startImmediately: true },
      )
      const givesUp = yield* Effect.forkChild(pool.ask(call()), { startImmediately: true })
      wakes.push(() => givesUp.interruptUnsafe())
      const patient = yield* Effect.forkChild(pool.ask(call()), { startImmediately: true })
      yield* TestClock.adjust(10)
      yield* Fiber.join(first)
      yield* TestClock.adjust(10)
      expect(Exit.isFailure(yield* Fiber.await(givesUp))).toBe(true)
      expect(yield* Fiber.join(patient)).toBe("answers")
      expect(pool.load()).toMatchObject({ running: 0, waiting: 0 })
    }),
  )

  it.effect("replaces an instance that is spent, and keeps one that is not", () =>
    Effect.gen(function* () {
      const members = watched()
      const pool = yield* poolOf(members, { size: 1 })
      for (const outcome of ["answers", "spends", "answers"] as const) yield* pool.ask(call({ takes: 0, outcome }))
      expect(members.count).toEqual({ opened: 2, closed: 1 })
    }),
  )

  it.effect("that closes refuses new calls and answers those that it took, also those that wait", () =>
    Effect.gen(function* () {
      const members = watched()
      const scope = yield* Scope.make()
      const pool = yield* Scope.provide(poolOf(members, { size: 1 }), scope)
      const taken = yield* Effect.forEach([1, 2, 3], () =>
        Effect.forkChild(pool.ask(call()), { startImmediately: true }),
      )
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      expect(yield* Effect.flip(pool.ask(call()))).toBeInstanceOf(PoolRefused)
      yield* TestClock.adjust(30)
      expect(yield* Effect.forEach(taken, Fiber.join)).toEqual(["answers", "answers", "answers"])
      yield* Fiber.join(closing)
      expect(members.count).toEqual({ opened: 1, closed: 1 })
      expect(members.violations).toEqual([])
    }),
  )

  it.effect("does not wait for ever for a call that does not end", () =>
    Effect.gen(function* () {
      const members = watched()
      const scope = yield* Scope.make()
      const pool = yield* Scope.provide(poolOf(members, { size: 1 }), scope)
      const stuck = yield* Effect.forkChild(pool.ask(call({ takes: 3_600_000 })), { startImmediately: true })
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* TestClock.adjust("6 seconds")
      yield* Fiber.join(closing)
      yield* Fiber.interrupt(stuck)
      expect(members.count).toEqual({ opened: 1, closed: 1 })
    }),
  )

  it.effect("gives the place of a call back where no instance can be opened", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      let tries = 0
      const open = Effect.suspend(() => (tries++ === 0 ? Effect.fail("no thread") : watched().open))
      const pool = yield* makePool({ open, size: 1, queue: 1, wait })
      expect(yield* Effect.flip(pool.ask(call()))).toBe("no thread")
      yield* Deferred.succeed(gate, undefined)
      expect(yield* pool.ask(call({ takes: 0 }))).toBe("answers")
    }),
  )
})
