/** Recorded orchestrations are decided today as they were when they were recorded. */
import { layer } from "@effect/vitest"
import { Effect, Struct } from "effect"
import { describe, expect, it } from "vitest"
import { steer } from "#policies/steering/steer.ts"
import { next } from "#runtime/coordinator/next.ts"
import { describeDifference } from "#test/golden/difference.ts"
import { type Line, logNames, readLog, readText, textOf } from "#test/golden/log.ts"
import { type Deciders, replay } from "#test/golden/replay.ts"
import { stories } from "#test/golden/staged/stories.ts"
import { coreServices } from "#test/support/core-services.ts"

/** What a person reads of a log; empty where it is decided as it was. */
const differenceIn = (name: string, lines: ReadonlyArray<Line>, deciders: Partial<Deciders> = {}): string => {
  const { difference } = replay(lines, { next, steer, ...deciders })
  return difference === undefined ? "" : describeDifference(name, difference)
}

const again =
  "  If it is meant to be so, record the logs again (test/golden/README.md) and review what changed in them."

describe("a golden log", () => {
  const logs = logNames().map((name) => ({ name, lines: readLog(name) }))

  it.each(logs)("of $name is decided as it was", ({ name, lines }) => {
    expect(differenceIn(name, lines)).toBe("")
  })

  it.each(logs)("of $name is decided the same once more", ({ lines }) => {
    const first = replay(lines)
    expect(first.decisions.length).toBeGreaterThan(lines.length / 2)
    expect(replay(lines)).toEqual(first)
  })

  it("shows the action that would be another one, and the state that it would be in", () => {
    const narrow: Deciders["next"] = (state, now) => next({ ...state, limits: { ...state.limits, width: 1 } }, now)
    expect(differenceIn("conflict", readLog("conflict"), { next: narrow })).toBe(
      [
        "conflict, line 11: something else is to be done next.",
        "  state: run in_progress; plan dispatching, round 0; 3 pending Vera; 4 pending Vera",
        '    {"_tag":"Dispatch","subtaskId":3,"attempt":1,"base":[]}',
        '  - {"_tag":"Dispatch","subtaskId":4,"attempt":1,"base":[]}',
        again,
      ].join("\n"),
    )
  })

  it("shows what steering would decide otherwise, member by member", () => {
    const lenient: Deciders["steer"] = (ask) => ({
      ...steer(ask),
      assignments: ask.plan.subtasks
        .filter(({ subtaskId }) => steer(ask).subtaskIds.includes(subtaskId))
        .map(({ subtaskId, assignedAgent, lockedOutAgents }) => ({ subtaskId, assignedAgent, lockedOutAgents })),
    })
    const shown = differenceIn("lockout", readLog("lockout"), { steer: lenient })
    expect(shown).toContain("steering decides otherwise.")
    expect(shown).toContain(
      [
        '  - answer.assignments.0.assignedAgent: "Otto"',
        '  - answer.assignments.0.lockedOutAgents.0: "Vera"',
        '  + answer.assignments.0.assignedAgent: "Vera"',
        "  + answer.assignments.0.lockedOutAgents: []",
      ].join("\n"),
    )
    expect(shown).not.toContain("directiveId")
  })

  it("shows a step of the state that comes to something else", () => {
    const whole = readLog("straight")
    const at = whole.findIndex((line) => line._tag === "Wrote" && line.change._tag === "ChildrenCompleted")
    const shown = differenceIn("straight", whole.toSpliced(at, 1))
    expect(shown).toContain("the state is another one.")
    expect(shown).toMatch(/^ {2}- run in_progress; plan awaiting_assembly/m)
    expect(shown).toMatch(/^ {2}\+ run in_progress; plan dispatching/m)
    const planless = whole.filter((line) => line._tag === "Began" || line._tag === "Wrote").toSpliced(4, 1)
    expect(differenceIn("straight", planless)).toContain("line 5: the change does not fit any more.")
    const other = { desiredOutcome: "it sings", scope: "", assumptions: "", clarifyingQuestions: null }
    const sung = whole.map((line) =>
      line._tag === "Wrote" && line.change._tag === "SpecDrafted"
        ? { ...line, change: { ...line.change, draft: other } }
        : line,
    )
    // what nobody has decided by shows in the end
    expect(differenceIn("straight", sung)).toContain(
      [
        "it ends in another state.",
        "  state: run merged; plan complete at done, round 1; 3 assemble_ready Vera; 4 assemble_ready Vera",
        '  - spec.desiredOutcome: "make it work"',
        '  + spec.desiredOutcome: "it sings"',
        again,
      ].join("\n"),
    )
  })

  it("is one of those that together come to everything that is decided", () => {
    const lines = logs.flatMap((log) => log.lines)
    const actions = lines.flatMap((line) => (line._tag === "Decided" ? line.actions.map(({ _tag }) => _tag) : []))
    expect([...new Set(actions)].sort()).toEqual([
      "AnswerQuestion",
      "Decide",
      "Decompose",
      "Dispatch",
      "DraftSpec",
      "Integrate",
      "Merge",
      "RequestReview",
      "RunGate",
      "Scribe",
      "Signal",
      "SteerChild",
      "SynthesizeSpec",
      "Write",
    ])
    const answers = lines.flatMap((line) =>
      line._tag === "Wrote" && line.change._tag === "SteeringDecided" ? [line.change.answer.rationale] : [],
    )
    expect([...new Set(answers)].sort()).toEqual([
      "author_locked_out",
      "context_preserved",
      "fresh_dispatch_requested",
      "recovery_attempts_exhausted",
      "single_eligible_agent",
    ])
    const ends = lines.flatMap((line) => (line._tag === "Ended" ? [line.state.run.status] : []))
    expect([...new Set(ends)].sort()).toEqual(["declined", "failed", "merged"])
  })

  it("is small, and names nothing of the machine that it was recorded on", () => {
    const texts = logNames().map(readText)
    expect(texts.length).toBe(Object.keys(stories).length + 1)
    expect(texts.join("").length).toBeLessThan(300_000)
    for (const text of texts) {
      expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-|\b[0-9a-f]{40}\b|"20\d\d-|\/tmp|\/home|svc-golden/)
    }
  })
})

layer(coreServices(), { excludeTestServices: true, timeout: "60 seconds" })("an orchestration on a stage", (it) => {
  for (const name of Struct.keys(stories)) {
    it.effect(`gives the log of ${name}, recorded anew`, () =>
      Effect.gen(function* () {
        const lines = yield* stories[name]
        // one that is not what it was is shown line by line; `npm run golden` writes it
        expect(textOf(lines).split("\n")).toEqual(readText(name).split("\n"))
      }),
    )
  }
})
