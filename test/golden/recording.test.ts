/** What is a log, and what is none. */
import { describe, expect, it } from "vitest"
import { evolve } from "#runtime/coordinator/evolve.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { aPlan, begun, planned } from "#runtime/coordinator/test/states.ts"
import { linesOf } from "#test/golden/lines.ts"
import type { Entry } from "#test/golden/recorder.ts"
import { recordingOf } from "#test/golden/recording.ts"

const state = planned(aPlan([begun(71, "assemble_ready"), begun(72, "dispatched")]))
const began = Date.parse("2026-03-01T10:00:30.000Z")
const looked = (seen: CoordinatorState, minutes = 0, takenOver = false): Entry => ({
  _tag: "Looked",
  ...{ state: seen, now: began + minutes * 60_000, takenOver },
})
const withChild = (lastEventAt: number, status: "in_progress" | "assemble_ready") => ({
  ...state,
  children: Object.fromEntries(
    Object.entries(state.children).map(([runId, child]) => [
      runId,
      runId === "child-72" ? { ...child, lastEventAt, status } : { ...child, lastEventAt: began },
    ]),
  ),
})
const settled = { _tag: "ChildSettled", subtaskId: 72, end: "assemble_ready" } as const
const recorded = (...entries: ReadonlyArray<Entry>) => recordingOf({ entriesOf: () => entries }, "")

describe("a recording", () => {
  it("has small ids and times, and leaves out looks that found nothing new", () => {
    const works = withChild(began + 1, "in_progress")
    const done = withChild(began + 60_000, "assemble_ready")
    const lines = recorded(
      looked(works),
      looked(withChild(began + 2, "in_progress"), 1),
      looked(done, 2),
      { _tag: "Wrote", state: done, by: "coordinator", changes: [settled] },
      looked(evolve(done, settled), 2, true),
    )
    expect(lines.map(({ _tag }) => _tag)).toEqual([
      "Began",
      "Decided",
      "Saw",
      "Decided",
      "Wrote",
      "TakenOver",
      "Decided",
      "Ended",
    ])
    expect(lines[2]).toEqual({
      _tag: "Saw",
      children: { "child-72": { lastEventAt: 60_000, status: "assemble_ready" } },
    })
    expect(lines[3]).toMatchObject({
      ...{ now: 120_000, when: "run in_progress; plan dispatching, round 0; 3 assemble_ready Vera; 4 dispatched Vera" },
      actions: [{ _tag: "Write", changes: [{ ...settled, subtaskId: 4 }] }],
    })
  })

  it("keeps a look that finds only that time has gone by, where that is a reason to do something", () => {
    const works = withChild(began, "in_progress")
    const running = evolve(works, { _tag: "ChildRunning", subtaskId: 72 })
    const [, ...lines] = recorded(looked(running), looked(running, 4), looked(running, 5))
    expect(lines).toMatchObject([
      { now: 0, actions: [] },
      { now: 300_000, actions: [{ changes: [{ _tag: "ChildStalled", subtaskId: 4, at: 300_000 }] }] },
      { _tag: "Ended" },
    ])
  })

  it("is none where the rows are not what the changes come to", () => {
    const other = { ...state, plan: aPlan([begun(71, "assemble_ready"), begun(72, "running")]) }
    expect(() => linesOf([looked(state), looked(other)])).toThrow(
      "plan in the database is not what the changes come to",
    )
    expect(() => linesOf([looked(state), looked({ ...state, children: {} })])).toThrow("children are gone")
    expect(() => linesOf([])).toThrow("nothing was recorded")
  })
})
