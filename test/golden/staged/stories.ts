/** The orchestrations that are recorded on a stage: together they come to everything that a coordinator decides. */
import { Effect } from "effect"
import { confirmSpec, rearm, reviseSpec } from "#runtime/coordinator/command.ts"
import {
  answers,
  approves,
  begins,
  declines,
  fails,
  isReady,
  rejects,
  steers,
  wants,
} from "#test/golden/staged/acts.ts"
import { makeStage } from "#test/golden/staged/stage.ts"

const minutes = 60_000

/** Two parts, one after the other; a person approves. */
const straight = Effect.gen(function* () {
  const { drive, child, person, recorded } = yield* makeStage({ edges: [[2, 1]] })
  yield* drive
  yield* child(1, begins)
  yield* drive
  yield* child(1, isReady)
  yield* drive
  yield* child(2, isReady)
  yield* drive
  yield* person(approves)
  yield* drive
  return yield* recorded
})

/** A person has the outcome drafted again, wants changes of one file, then of one child in place, and leaves a note. */
const changesRequested = Effect.gen(function* () {
  const { drive, child, person, recorded } = yield* makeStage({ startMode: "defineOutcome", items: 3, edges: [[3, 1]] })
  const by = "ada"
  yield* drive
  yield* person((state) => reviseSpec(state, { by, feedback: "with tests" }))
  yield* drive
  yield* person((state) => confirmSpec(state, { by, allowTaskPromotion: false }))
  yield* drive
  yield* child(1, isReady)
  yield* child(2, isReady)
  yield* drive
  yield* child(3, isReady)
  yield* drive
  yield* person(steers("send", "well done"))
  yield* person(wants("make it red", ["src/1.ts"]))
  yield* drive
  yield* child(1, isReady)
  yield* drive
  yield* child(3, isReady)
  yield* drive
  yield* person(steers("amend", "sign it", 2))
  yield* drive
  yield* child(2, isReady)
  yield* drive
  yield* person(approves)
  yield* drive
  return yield* recorded
})

/** Two children change the same lines, twice; a person lets the plan go on; the branch is dirty, and then has moved. */
const conflict = Effect.gen(function* () {
  const { world, state, drive, child, person, recorded } = yield* makeStage()
  const clean = world.integration
  const subtasks = Effect.map(state, ({ plan }) => plan?.subtasks ?? [])
  yield* drive
  yield* child(1, isReady)
  yield* child(2, isReady)
  const [, second] = yield* subtasks
  world.integration = () => ({ _tag: "Conflict", subtaskId: second?.subtaskId ?? 0, files: ["src/shared.ts"] })
  yield* drive
  yield* child(2, isReady)
  yield* drive
  world.integration = clean
  yield* person((seen) => rearm(seen, "ada"))
  yield* drive
  world.merge = () => ({ _tag: "Blocked", reason: "dirty_working_tree" })
  yield* person(approves)
  yield* drive
  world.merge = () => ({ _tag: "Conflict", reason: "merge_conflict", files: ["src/1.ts"] })
  yield* person(approves)
  yield* drive
  yield* person(wants("on top of what is there now"))
  world.merge = (commit) => ({ _tag: "Merged", commit })
  yield* drive
  yield* child(1, isReady)
  yield* child(2, isReady)
  yield* drive
  yield* person(approves)
  yield* drive
  return yield* recorded
})

/** Authors are locked out until nobody else is left, and then until nothing is left to try: a person decides. */
const lockout = Effect.gen(function* () {
  const no = rejects("red tests", "src/1.ts")
  const { world, drive, child, person, recorded } = yield* makeStage({ gate: answers("build-test", no, no, no, no) })
  yield* drive
  yield* child(1, isReady)
  yield* child(2, isReady)
  for (const _ of [1, 2, 3]) {
    yield* drive
    yield* child(1, isReady)
  }
  yield* drive
  yield* person(wants("another way"))
  world.gate = answers("rai", rejects("who says so?"), { _tag: "Blocked", reason: "it spies" })
  yield* drive
  yield* child(1, isReady)
  yield* child(2, isReady)
  yield* drive
  yield* child(1, isReady)
  yield* child(2, isReady)
  yield* drive
  yield* person(approves)
  yield* drive
  yield* person(declines)
  return yield* recorded
})

/** A child falls silent, one fails and is tried again, drivers die over their work, and a gate cannot be asked. */
const recovery = Effect.gen(function* () {
  const { world, drive, child, person, wait, recorded } = yield* makeStage({ items: 3, edges: [[3, 2]] })
  const crashNext = (after: boolean) => Object.assign(world, { crashAt: world.calls.length + 1, crashAfter: after })
  crashNext(true)
  yield* drive
  yield* drive
  yield* child(1, begins)
  yield* drive
  wait(6 * minutes)
  yield* drive
  yield* child(2, fails("boom", true))
  yield* drive
  yield* child(1, isReady)
  yield* child(2, fails("content_safety", false))
  yield* drive
  yield* person((state) => rearm(state, "ada"))
  yield* drive
  yield* child(2, isReady)
  crashNext(false)
  yield* drive
  yield* drive
  yield* child(3, isReady)
  world.gate = answers("build-test", {
    _tag: "Unavailable",
    infrastructure: { reason: "build_test_infra_no_sandbox", message: "There is no place to test in." },
  })
  yield* drive
  yield* person((state) => rearm(state, "ada"))
  crashNext(true)
  yield* drive
  yield* drive
  yield* person(approves)
  crashNext(true)
  yield* drive
  yield* drive
  return yield* recorded
})

/** A person redirects a child that works, stops another, starts it afresh, and then stops the whole. */
const stopped = Effect.gen(function* () {
  const { drive, child, person, recorded } = yield* makeStage()
  yield* drive
  yield* child(1, begins)
  yield* child(2, begins)
  yield* drive
  yield* person(steers("redirect", "another way", 1))
  yield* drive
  yield* person(steers("stop", "", 2))
  yield* drive
  yield* person(steers("dispatch-fresh", "after all"))
  yield* drive
  yield* child(1, begins)
  yield* person(steers("stop", ""))
  return yield* recorded
})

/** Nobody confirms the outcome, and nobody answers a child: autopilot does. A person reviews. */
const autopilot = Effect.gen(function* () {
  const { drive, child, asks, person, recorded } = yield* makeStage({
    ...{ startMode: "defineOutcome", autopilot: true, items: 1 },
  })
  yield* drive
  yield* child(1, begins)
  yield* asks(1, "Which colour?")
  yield* drive
  yield* child(1, isReady)
  yield* drive
  yield* person(approves)
  yield* drive
  return yield* recorded
})

export const stories = {
  straight,
  autopilot,
  "changes-requested": changesRequested,
  conflict,
  lockout,
  recovery,
  stopped,
} as const

export type StoryName = keyof typeof stories
