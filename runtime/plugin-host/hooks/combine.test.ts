import { it } from "@effect/vitest"
import { Duration, Effect, Fiber, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import {
  type AnyQuestion,
  allowed,
  decideQuestion,
  type Failure,
  guardQuestion,
  HookFault,
  type HookReply,
  refineQuestion,
} from "#core/hook.ts"
import { makeCall } from "#runtime/plugin-host/hooks/call.ts"
import { type Combined, combine } from "#runtime/plugin-host/hooks/combine.ts"
import { inOrder, makeRegistry, type Registered } from "#runtime/plugin-host/hooks/registry.ts"

const Ask = Schema.Struct({ value: Schema.String })
const Answer = Schema.Struct({ value: Schema.String })

const decide = decideQuestion({
  name: "test.decide",
  summary: "",
  ask: Ask,
  answer: Answer,
  builtIn: ({ value }) => ({ value: `built-in ${value}` }),
})
const strict = decideQuestion({ ...decide, safe: () => ({ value: "safe" }), closed: true })
const guard = guardQuestion({ name: "test.guard", summary: "", ask: Ask })
const refine = refineQuestion({
  name: "test.refine",
  summary: "",
  ask: Ask,
  answer: Answer,
  builtIn: ({ value }) => ({ value }),
  refined: (_, { value }) => ({ value }),
})

type Behaviour = (ask: string) => Effect.Effect<HookReply | undefined, HookFault>

const replies =
  (answer: unknown): Behaviour =>
  () =>
    Effect.succeed({ answer })
const behaviours = {
  abstains: () => Effect.undefined,
  allows: replies({ decision: "allow" }),
  refuses: replies({ decision: "refuse", reason: "no", policy: "somebody else" }),
  "answers what is no answer": replies({ decision: "perhaps", value: 1 }),
  "answers nothing that can be read": replies(undefined),
  faults: () => Effect.fail(new HookFault({ reason: "out_of_fuel", message: "no fuel" })),
  throws: () => {
    throw new Error("thrown")
  },
  dies: () => Effect.die("dead"),
  "is interrupted": () => Effect.interrupt,
} satisfies Record<string, Behaviour>
type Name = keyof typeof behaviours
const names = Object.keys(behaviours) as ReadonlyArray<Name> // the keys of a literal are just these

const registered = (plugin: string, answer: Behaviour, failure: Failure = "open", priority = 100): Registered => ({
  plugin,
  version: "1.0.0",
  question: "test",
  priority,
  mode: "enforce",
  failure,
  answer,
})

const run = (question: AnyQuestion, handlers: ReadonlyArray<Registered>): Effect.Effect<Combined> =>
  Effect.scoped(Effect.flatMap(Effect.scope, (scope) => combine(question, { value: "x" }, handlers, makeCall(scope))))

const value = (text: string) => replies({ value: text })

describe("a decision", () => {
  it.effect.each<readonly [string, ReadonlyArray<Registered>, string]>([
    ["is the built-in one where nobody is asked", [], "built-in x"],
    ["is the first answer", [registered("a", value("one")), registered("b", value("two"))], "one"],
    ["passes over who has no opinion", [registered("a", behaviours.abstains), registered("b", value("two"))], "two"],
    ["passes over a fault that is open", [registered("a", behaviours.dies), registered("b", value("two"))], "two"],
    ["passes over a bad answer", [registered("a", replies(7)), registered("b", value("two"))], "two"],
    [
      "is the built-in one after a fault that is closed",
      [registered("a", behaviours.throws, "closed"), registered("b", value("two"))],
      "built-in x",
    ],
  ])("%s", ([, handlers, expected]) =>
    Effect.gen(function* () {
      expect((yield* run(decide, handlers)).answer).toEqual({ value: expected })
    }),
  )

  it.effect("is the safe one after any fault, where the question is closed", () =>
    Effect.gen(function* () {
      const handlers = [registered("a", behaviours.faults), registered("b", value("two"))]
      expect((yield* run(strict, handlers)).answer).toEqual({ value: "safe" })
    }),
  )

  it.effect("asks nobody after the first answer", () =>
    Effect.gen(function* () {
      const handlers = [registered("a", value("one")), registered("b", behaviours.dies)]
      expect((yield* run(decide, handlers)).outcomes).toHaveLength(1)
    }),
  )
})

describe("a guard", () => {
  const Picked = Schema.Array(Schema.Literals(names)).check(Schema.isMaxLength(12))

  it.effect.prop("allows only where every plugin allows it or has no opinion", [Picked], ([picked]) =>
    Effect.gen(function* () {
      const handlers = picked.map((name, index) => registered(`p${index}`, behaviours[name]))
      const { answer } = yield* run(guard, handlers)
      const first = picked.findIndex((name) => name !== "allows" && name !== "abstains")
      if (first < 0) expect(answer).toEqual(allowed)
      else expect(answer).toMatchObject({ decision: "refuse", policy: `p${first}` })
    }),
  )

  it.effect("tells the beginning of what a plugin says of its failure", () =>
    Effect.gen(function* () {
      const message = "much too long ".repeat(1_000)
      const wordy = registered("wordy", () => Effect.fail(new HookFault({ reason: "threw", message, fuel: 7 })))
      const { answer, outcomes } = yield* run(guard, [wordy])
      expect(JSON.stringify(answer).length).toBeLessThan(1_000)
      expect(outcomes).toMatchObject([{ fuel: 7, fault: { message: message.slice(0, 500) } }])
    }),
  )

  it.effect("asks all of them, also after a refusal", () =>
    Effect.gen(function* () {
      const handlers = names.map((name) => registered(name, behaviours[name]))
      expect((yield* run(guard, handlers)).outcomes.map(({ by }) => by.plugin)).toEqual(names)
    }),
  )

  it.effect("refuses within its time limit where a plugin gives no answer and does not stop", () =>
    Effect.gen(function* () {
      const endless = { ...registered("a", () => Effect.uninterruptible(Effect.never)), timeLimit: Duration.hours(1) }
      // never closed: closing would wait for what cannot be stopped
      const scope = yield* Scope.make()
      const asked = yield* Effect.forkChild(combine(guard, { value: "x" }, [endless], makeCall(scope)))
      yield* TestClock.adjust(guard.timeLimit)
      const { answer, outcomes } = yield* Fiber.join(asked)
      expect(answer).toMatchObject({ decision: "refuse", policy: "a" })
      expect(outcomes[0]).toMatchObject({ _tag: "Faulted", fault: { reason: "timed_out" } })
    }),
  )
})

describe("a refinement", () => {
  const add =
    (text: string): Behaviour =>
    (ask) =>
      Effect.succeed({ answer: { value: JSON.parse(ask).value + text } })

  it.effect("gives each plugin what the one before it made", () =>
    Effect.gen(function* () {
      const { answer } = yield* run(refine, [registered("a", add("1")), registered("b", add("2"))])
      expect(answer).toEqual({ value: "x12" })
    }),
  )

  it.effect("goes on without those that have no opinion or cannot answer", () =>
    Effect.gen(function* () {
      const idle = names.filter((name) => name !== "allows" && name !== "refuses")
      const handlers = [
        registered("a", add("1")),
        ...idle.map((name) => registered(name, behaviours[name])),
        registered("z", add("2")),
      ]
      expect((yield* run(refine, handlers)).answer).toEqual({ value: "x12" })
    }),
  )

  it.effect("has no answer where one that fails closed cannot answer", () =>
    Effect.gen(function* () {
      const { refusal } = yield* run(refine, [registered("a", behaviours.faults, "closed")])
      expect(refusal).toMatchObject({ code: "plugin_unavailable", extra: { plugin: "a" } })
    }),
  )
})

describe("the order of plugins", () => {
  const Given = Schema.Array(
    Schema.Struct({ priority: Schema.Literals([0, 1, 2]), name: Schema.String.check(Schema.isMinLength(1)) }),
  )

  it.prop("is by priority, then by name, however they came", [Given], ([given]) => {
    const registry = makeRegistry()
    for (const { priority, name } of given) {
      registry.replace(name, [{ ...registered(name, behaviours.allows, "open", priority), question: "q" }])
    }
    const asked = registry.hold("q").enforced
    expect(asked).toEqual(asked.toSorted(inOrder))
    expect(asked).toHaveLength(new Set(given.map(({ name }) => name)).size)
  })
})

describe("an exchange of plugins", () => {
  const version = (number: number): Registered => ({
    ...registered("p", behaviours.allows),
    question: "q",
    version: `${number}`,
  })

  it.effect("never shows one ask two versions, and ends when nobody uses the earlier ones", () =>
    Effect.gen(function* () {
      const registry = makeRegistry()
      registry.replace("p", [version(1)])
      const first = registry.hold("q")
      const second = registry.hold("q")
      const unused = yield* Effect.forkChild(registry.replace("p", [version(2)]).unused, { startImmediately: true })
      const third = registry.hold("q")
      expect([first, third].map((held) => held.enforced.map((each) => each.version))).toEqual([["1"], ["2"]])
      first.release()
      yield* Effect.yieldNow
      expect(unused.pollUnsafe()).toBeUndefined()
      second.release()
      yield* Fiber.join(unused)
      third.release()
    }),
  )
})
