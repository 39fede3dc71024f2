import { describe, expect, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber } from "effect"
import { grantsFor } from "#runtime/plugin-host/io/grants.ts"
import type { IoSession, PolicyIoServer } from "#runtime/plugin-host/io/policy-io.ts"
import { noPermissions } from "#runtime/plugin-host/packages/permissions.ts"
import { openHere, openThread } from "#runtime/plugin-host/packages/policy-member.ts"
import { policyGrants } from "#runtime/plugin-host/wasm/extism-abi.ts"
import { defaultPolicyLimits } from "#runtime/plugin-host/wasm/policy-call.ts"
import { mustAdmit, mustRefuse } from "#test/fixtures/wasm/support.ts"
import { relaying } from "#test/support/io-policy.ts"

const both = grantsFor({ net: ["https://api.example.test"], kv: true })
const limits = defaultPolicyLimits
const asked = { function: "answer", input: '{"do":"get","key":"ü"}' }

const serving = (serve: IoSession["serve"]): PolicyIoServer => ({
  begin: () => ({ serve, used: () => ({ calls: 1, digest: "sha256:0" }) }),
})
const echoing = serving((call, request) =>
  Effect.succeed(Buffer.from(JSON.stringify({ call, request: Buffer.from(request).toString() }))),
)

describe("a module that asks for more than every policy has", () => {
  it("is refused where it was not granted, with the name of what it asks for", () => {
    expect(mustRefuse(relaying("http"), policyGrants).message).toContain(
      "imports svc:io.http, which it was not granted",
    )
    const onlyNet = grantsFor({ ...noPermissions, net: ["https://api.example.test"] })
    const onlyKv = grantsFor({ ...noPermissions, kv: true })
    expect(mustRefuse(relaying("kv"), onlyNet).message).toContain("svc:io.kv")
    expect(mustRefuse(relaying("http"), onlyKv).message).toContain("svc:io.http")
    mustAdmit(relaying("http"), onlyNet)
    mustAdmit(relaying("kv"), onlyKv)
  })
})

describe("a thread of a policy that may ask", () => {
  it.live("is given what it asked for, as often as it is asked, and says so", () =>
    Effect.gen(function* () {
      const member = yield* openThread(mustAdmit(relaying("kv"), both), limits, echoing)
      for (let again = 0; again < 20; again++) {
        const exit = yield* member.ask(asked)
        expect(exit).toMatchObject({
          ok: true,
          value: { call: "kv", request: asked.input },
          io: { calls: 1, digest: "sha256:0" },
        })
      }
      yield* member.close
    }),
  )

  it.live("meets a refusal where it asks with an address at which there is nothing, and goes on", () =>
    Effect.gen(function* () {
      const addresses = ["0", "1", "9", "12", "65536", "-1", "-9223372036854775808", "9223372036854775807"]
      const module = mustAdmit(relaying("http", addresses), both)
      const member = yield* openThread(
        module,
        limits,
        serving(() => Effect.die("it was served")),
      )
      for (const [at] of addresses.entries()) {
        const exit = yield* member.ask({ ...asked, function: `at${at}` })
        expect(exit).toMatchObject({ ok: true, value: { ok: false, reason: "request" } })
      }
      expect(member.spent()).toBe(false)
      yield* member.close
    }),
  )

  it.live("meets a refusal where its request is too large, and pays for what it is given", () =>
    Effect.gen(function* () {
      const module = mustAdmit(relaying("kv"), both)
      const large = yield* openThread(module, { ...limits, inputBytes: 1_000_000 }, echoing)
      const exit = yield* large.ask({ ...asked, input: "x".repeat(64 * 1_024 + 1) })
      expect(exit).toMatchObject({ ok: true, value: { ok: false, reason: "request" } })
      yield* large.close
      const answering = (bytes: number) => serving(() => Effect.succeed(Buffer.from(JSON.stringify("x".repeat(bytes)))))
      const fuelFor = Effect.fnUntraced(function* (bytes: number) {
        const member = yield* openThread(module, limits, answering(bytes))
        const { fuelUsed } = yield* member.ask(asked)
        yield* member.close
        return fuelUsed
      })
      expect((yield* fuelFor(20_000)) - (yield* fuelFor(0))).toBeGreaterThan(9_000)
      const over = yield* openThread(module, { ...limits, exchangeBytes: 10_000 }, answering(20_000))
      expect(yield* over.ask(asked)).toMatchObject({ ok: false, reason: "exchange_exhausted" })
      yield* over.close
    }),
  )

  it.live("is ended where the one who asked gives up while it waits, and so is what was done for it", () =>
    Effect.gen(function* () {
      const [begun, ended] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const slow = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never).pipe(
        Effect.onInterrupt(() => Deferred.succeed(ended, undefined)),
      )
      const member = yield* openThread(
        mustAdmit(relaying("http"), both),
        limits,
        serving(() => slow),
      )
      const waiting = yield* Effect.forkChild(member.ask(asked))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(waiting)
      yield* Deferred.await(ended)
      expect(member.spent()).toBe(true)
    }),
  )

  it.live("is ended where serving it has a defect", () =>
    Effect.gen(function* () {
      const member = yield* openThread(
        mustAdmit(relaying("http"), both),
        limits,
        serving(() => Effect.die("a defect")),
      )
      const exit = yield* Effect.exit(member.ask(asked))
      expect(Exit.isFailure(exit) && Cause.squash(exit.cause)).toBe("a defect")
      expect(member.spent()).toBe(true)
    }),
  )
})

describe("a policy that is asked without a service", () => {
  it.live("is answered that there is nothing to ask", () =>
    Effect.gen(function* () {
      const member = yield* openHere(mustAdmit(relaying("kv"), both), limits)
      expect(yield* member.ask(asked)).toMatchObject({ ok: true, value: { ok: false, reason: "unavailable" } })
    }),
  )
})
