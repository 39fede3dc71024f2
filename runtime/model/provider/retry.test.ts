/** When a request is made again, and how long it waits before that. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { ModelFailed } from "#core/wire/model.ts"
import { AttemptFailed } from "#runtime/model/provider/failure.ts"
import { pauseAfter, retried } from "#runtime/model/provider/retry.ts"

const failure = (retryable: boolean, retryAfter: number | null = null) =>
  new AttemptFailed({
    failed: new ModelFailed({ kind: "RateLimited", message: "Too many.", retryable }),
    retryAfter,
  })

/** Fails so often, then streams one part. */
const flaky = (failures: number, fault: AttemptFailed) => {
  const tried = { times: 0 }
  const stream = Stream.suspend(() => {
    tried.times += 1
    return tried.times > failures ? Stream.make("part") : Stream.fail(fault)
  })
  return { tried, stream }
}

const outcomeOf = Effect.fnUntraced(function* (stream: Stream.Stream<string, AttemptFailed>, maxAttempts: number) {
  const fiber = yield* Effect.forkChild(Effect.result(Stream.runCollect(retried(stream, maxAttempts))))
  yield* TestClock.adjust("1 hour")
  return yield* Fiber.join(fiber)
})

describe("retried", () => {
  it.effect("tries until it works", () =>
    Effect.gen(function* () {
      const { tried, stream } = flaky(3, failure(true))
      expect(yield* outcomeOf(stream, 4)).toMatchObject({ _tag: "Success", success: ["part"] })
      expect(tried.times).toBe(4)
    }),
  )

  it.effect("ends with the last failure when no try is left", () =>
    Effect.gen(function* () {
      const { tried, stream } = flaky(9, failure(true))
      expect(yield* outcomeOf(stream, 4)).toMatchObject({ _tag: "Failure", failure: { kind: "RateLimited" } })
      expect(tried.times).toBe(4)
    }),
  )

  it.effect("does not try again what will not help", () =>
    Effect.gen(function* () {
      const { tried, stream } = flaky(9, failure(false))
      yield* outcomeOf(stream, 4)
      expect(tried.times).toBe(1)
    }),
  )

  it.effect("does not wait longer than anybody does, whatever the provider asks for", () =>
    Effect.gen(function* () {
      const { tried, stream } = flaky(1, failure(true, 3_600_000))
      expect((yield* outcomeOf(stream, 4))._tag).toBe("Failure")
      expect(tried.times).toBe(1)
    }),
  )

  it.effect("waits as long as the provider asks for", () =>
    Effect.gen(function* () {
      const { tried, stream } = flaky(1, failure(true, 60_000))
      const fiber = yield* Effect.forkChild(Stream.runCollect(retried(stream, 4)))
      yield* TestClock.adjust("59 seconds")
      expect(tried.times).toBe(1)
      yield* TestClock.adjust("2 seconds")
      expect(yield* Fiber.join(fiber)).toEqual(["part"])
    }),
  )

  it.effect("never says a part twice", () =>
    Effect.gen(function* () {
      const parts: Array<string> = []
      let tries = 0
      const stream = Stream.suspend(() => {
        tries += 1
        return Stream.concat(Stream.make("part"), Stream.fail(failure(true)))
      })
      const failed = yield* Effect.flip(
        Stream.runForEach(retried(stream, 4), (part) => Effect.sync(() => parts.push(part))),
      )
      expect([failed.kind, parts, tries]).toEqual(["RateLimited", ["part"], 1])
    }),
  )
})

describe("pauseAfter", () => {
  it("grows to half a minute, by chance, and never undercuts the provider", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, chance) => {
        const pause = pauseAfter(attempt, chance, null)
        expect(pause).toBeGreaterThanOrEqual(250)
        expect(pause).toBeLessThanOrEqual(30_000)
        expect(pauseAfter(attempt + 1, chance, null)).toBeGreaterThanOrEqual(pause)
        expect(pauseAfter(attempt, chance, 90_000)).toBeGreaterThanOrEqual(90_000)
      }),
    )
  })
})
