import type { Worker } from "node:worker_threads"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { openHere, openThread, type PolicyMember } from "#runtime/plugin-host/packages/policy-member.ts"
import { withSpare } from "#runtime/plugin-host/packages/spare.ts"
import { policyGrants } from "#runtime/plugin-host/wasm/extism-abi.ts"
import { defaultPolicyLimits } from "#runtime/plugin-host/wasm/policy-call.ts"
import { mustAdmit } from "#test/fixtures/wasm/support.ts"
import { allowing, answeringSetting } from "#test/support/policy-package.ts"

const limits = { ...defaultPolicyLimits, fuel: 1_000_000_000 }
const asked = { function: "answer", input: "{}" }

describe("a thread of a policy", () => {
  it.live("gives the same answer, fuel and faults as this thread", () =>
    Effect.gen(function* () {
      const admitted = mustAdmit(answeringSetting("mode"), policyGrants)
      const [here, there] = [
        yield* openHere(admitted, defaultPolicyLimits),
        yield* openThread(admitted, defaultPolicyLimits),
      ]
      const questions = [
        { ...asked, config: new Map([["mode", '{"a":1}']]) },
        asked,
        { ...asked, function: "spin" },
        { ...asked, function: "missing" },
        { ...asked, input: "x".repeat(100_000) },
      ]
      for (const question of questions) expect(yield* there.ask(question)).toEqual(yield* here.ask(question))
      expect(there.spent()).toBe(false)
      yield* there.close
      expect(there.spent()).toBe(true)
    }),
  )

  it.live("is ended where the one who asked gives up", () =>
    Effect.gen(function* () {
      const member = yield* openThread(mustAdmit(allowing, policyGrants), limits)
      const endless = yield* Effect.forkChild(member.ask({ ...asked, function: "spin" }), { startImmediately: true })
      yield* Fiber.interrupt(endless)
      expect(member.spent()).toBe(true)
    }),
  )

  it.live("that ends while it is asked is a fault, not a question without an answer", () =>
    Effect.gen(function* () {
      const member = yield* openThread(mustAdmit(allowing, policyGrants), limits)
      const endless = yield* Effect.forkChild(member.ask({ ...asked, function: "spin" }), { startImmediately: true })
      yield* member.close
      expect(yield* Fiber.join(endless)).toMatchObject({ ok: false, reason: "host_error" })
      expect(member.spent()).toBe(true)
    }),
  )

  it.live("that fails while nobody asks is spent, and takes nothing with it", () =>
    Effect.gen(function* () {
      const started = Promise.withResolvers<Worker>()
      process.once("worker", started.resolve)
      const member = yield* openThread(mustAdmit(allowing, policyGrants), limits)
      const thread = yield* Effect.promise(() => started.promise)
      // as Node does where the heap of a thread is full: an error that nobody listens to would end this process
      thread.emit("error", new Error("the heap is full"))
      expect(member.spent()).toBe(true)
      yield* member.close
    }),
  )
})

describe("a spare", () => {
  const counting = () => {
    const count = { opened: 0, closed: 0 }
    const open = Effect.sync((): PolicyMember => {
      count.opened++
      let spent = false
      return {
        ask: () => Effect.never,
        spent: () => spent,
        close: Effect.sync(() => {
          spent = true
          count.closed++
        }),
      }
    })
    return { count, open }
  }

  it.effect("is open before it is needed, replaced when it is taken, and closed with the scope", () =>
    Effect.gen(function* () {
      const { count, open } = counting()
      const scope = yield* Scope.make()
      const spare = yield* Scope.provide(withSpare(open), scope)
      expect(count.opened).toBe(1)
      yield* spare.open
      expect(count).toEqual({ opened: 2, closed: 0 })
      yield* Scope.close(scope, Exit.void)
      expect(count).toEqual({ opened: 2, closed: 1 })
    }),
  )

  it.effect("that cannot be opened at first is the failure of whoever sets it up", () =>
    Effect.gen(function* () {
      expect(yield* Effect.flip(Effect.scoped(withSpare(Effect.fail("no thread"))))).toBe("no thread")
    }),
  )
})
