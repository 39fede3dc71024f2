import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { type SteerCommand, steer } from "#runtime/coordinator/command/steer.ts"
import {
  confirmSpec,
  type Decided,
  type ReviewDecision,
  rearm,
  reviewAssembly,
  reviseSpec,
} from "#runtime/coordinator/command.ts"
import type { CoordinatorState, PlanStatus } from "#runtime/coordinator/state.ts"
import { aPlan, aSpec, aState, begun, planned } from "#runtime/coordinator/test/states.ts"

const stamp = { id: 9, at: "2026-01-01T00:00:00.000Z" }
const tags = (decided: Decided) =>
  Result.isSuccess(decided) ? decided.success.map(({ _tag }) => _tag) : decided.failure.code

const at = (status: PlanStatus, assembly: object = { treeHash: "t" }): CoordinatorState => {
  const state = planned(
    aPlan([begun(1, "assemble_ready")], { status, assembly: { ...aPlan([]).assembly, ...assembly } }),
  )
  return status === "in_review" ? { ...state, run: { ...state.run, status: "awaiting_review" } } : state
}
const ended = aState({ run: { ...aState().run, status: "merged" }, spec: aSpec })
const awaiting = aState({ spec: { ...aSpec, status: "awaiting_confirmation", confirmedBy: null } })

describe("an outcome spec", () => {
  const confirm = (state: CoordinatorState) => tags(confirmSpec(state, { by: "ada", allowTaskPromotion: false }))

  it("is confirmed once; asked again, nothing happens", () => {
    expect(confirm(awaiting)).toEqual(["SpecConfirmed"])
    expect(confirm(aState({ spec: aSpec }))).toEqual([])
    expect(confirm(ended)).toEqual([])
  })

  it("is not confirmed before it is drafted, nor after the run", () => {
    expect(confirm(aState())).toBe("no_pending_gate")
    expect(confirm({ ...awaiting, run: ended.run })).toBe("run_not_active")
  })

  it("is revised only while it waits", () => {
    const revise = (state: CoordinatorState) => tags(reviseSpec(state, { by: "ada", feedback: "more" }))
    expect(revise(awaiting)).toEqual(["SpecRevised"])
    expect(revise(aState({ spec: aSpec }))).toBe("no_pending_gate")
  })
})

describe("a review of the assembly", () => {
  const decision = (more: Partial<ReviewDecision>): ReviewDecision => ({
    approved: false,
    requestChanges: false,
    feedback: "",
    targetFiles: null,
    by: "eve",
    ...more,
  })
  const review = (state: CoordinatorState, more: Partial<ReviewDecision>) =>
    tags(reviewAssembly(state, decision(more), stamp))

  it.each<readonly [PlanStatus, approve: unknown, changes: unknown, decline: unknown]>([
    ["in_review", ["ReviewApproved"], ["SignalReceived"], ["ReviewDeclined"]],
    ["rai_blocked", ["ReviewApproved"], ["SignalReceived"], ["ReviewDeclined"]],
    ["needs_resolution", "no_assembly_review_pending", ["SignalReceived"], ["ReviewDeclined"]],
    ["assembling", "no_assembly_review_pending", "no_assembly_review_pending", "no_assembly_review_pending"],
    ["assembly_steering", "no_assembly_review_pending", "no_assembly_review_pending", "no_assembly_review_pending"],
    ["dispatching", "no_assembly_review_pending", "no_assembly_review_pending", "no_assembly_review_pending"],
  ])("is answered in %s as it may be", (status, approve, changes, decline) => {
    expect(review(at(status), { approved: true })).toEqual(approve)
    expect(review(at(status), { requestChanges: true })).toEqual(changes)
    expect(review(at(status), {})).toEqual(decline)
  })

  it("may be approved twice by one person, and not by another", () => {
    const state = at("assembling", { treeHash: "t", approvedTreeHash: "t", approvedBy: "eve", stage: "merge" })
    const merging: CoordinatorState = { ...state, run: { ...state.run, status: "merging" } }
    expect(review(merging, { approved: true })).toEqual([])
    expect(review(merging, { approved: true, by: "bob" })).toBe("no_assembly_review_pending")
  })

  it("reads the files from the line for them, and takes an explicit list before it", () => {
    const files = (more: Partial<ReviewDecision>) => {
      const decided = reviewAssembly(at("in_review"), decision({ requestChanges: true, ...more }), stamp)
      const [change] = Result.isSuccess(decided) ? decided.success : []
      return change?._tag === "SignalReceived" ? change.directive.signal.targetFiles : undefined
    }
    expect(files({ feedback: "look at src/a.ts" })).toBeNull()
    expect(files({ feedback: "bad\nTARGET_FILES: src/a.ts, `src/b.ts`" })).toEqual(["src/a.ts", "src/b.ts"])
    expect(files({ feedback: "TARGET_FILES: src/a.ts", targetFiles: ["src/c.ts"] })).toEqual(["src/c.ts"])
  })
})

describe("a plan that is held up", () => {
  it("goes on when a person says so, and only then", () => {
    expect(tags(rearm(at("assembly_blocked"), "eve"))).toEqual(["Rearmed"])
    expect(tags(rearm(at("needs_resolution"), "eve"))).toEqual(["Rearmed"])
    expect(tags(rearm(at("dispatching"), "eve"))).toBe("run_not_retryable")
  })
})

describe("a person's steering", () => {
  const steered = (state: CoordinatorState, more: Partial<SteerCommand>) =>
    steer(state, { kind: "send", targetChildRunId: null, instruction: "mind the tests", by: "eve", ...more }, stamp)
  const running = planned(aPlan([begun(1, "running"), begun(2, "assemble_ready")]))

  it.each<readonly [string, CoordinatorState, Partial<SteerCommand>, unknown]>([
    [
      "stops one child at once",
      running,
      { kind: "stop", targetChildRunId: "child-1" },
      ["SignalReceived", "ChildSettled"],
    ],
    ["stops everything, plan or none", aState(), { kind: "stop" }, ["SignalReceived", "Stopped"]],
    ["does not stop who has stopped", running, { kind: "stop", targetChildRunId: "child-2" }, "steering_invalid"],
    ["does not know strangers", running, { targetChildRunId: "child-9" }, "steering_invalid"],
    ["needs words to redirect", running, { kind: "redirect", instruction: " " }, "steering_invalid"],
    ["sends a message on to the children", running, {}, ["SignalReceived"]],
    ["is a note while a person reviews", at("in_review"), {}, ["SignalReceived"]],
    ["lets a plan go on that is held up", at("assembly_blocked"), {}, ["SignalReceived", "Rearmed"]],
    ["recovers what failed", planned(aPlan([begun(1, "failed")])), { kind: "dispatch-fresh" }, ["SignalReceived"]],
    ["recovers nothing where nothing failed", running, { kind: "dispatch-fresh" }, "steering_invalid"],
    [
      "recovers nothing for the fourth time",
      planned(aPlan([begun(1, "failed", { recoveryAttempts: 3 }), begun(2, "failed")])),
      { kind: "dispatch-fresh" },
      "steering_recovery_exhausted",
    ],
    [
      "recovers the child that has been recovered less often",
      planned(aPlan([begun(1, "failed", { recoveryAttempts: 3 }), begun(2, "failed")])),
      { kind: "dispatch-fresh", targetChildRunId: "child-2" },
      ["SignalReceived"],
    ],
    [
      "redirects whatever the budgets say",
      planned(aPlan([begun(1, "failed", { recoveryAttempts: 3 })], { steeringIterations: 6 })),
      { kind: "redirect" },
      ["SignalReceived"],
    ],
    [
      "lets all of a plan go on that is held up, with new budgets",
      planned(aPlan([begun(1, "failed", { recoveryAttempts: 3 })], { status: "assembly_blocked" })),
      { kind: "dispatch-fresh" },
      ["SignalReceived", "Rearmed"],
    ],
    ["has no plan to send to", aState({ spec: aSpec }), {}, "steering_invalid"],
    ["comes too late after the end", ended, { kind: "stop" }, "run_not_active"],
    ["comes too late for a merge", { ...running, run: { ...running.run, status: "merging" } }, {}, "conflict"],
  ])("%s", (_, state, more, expected) => {
    expect(tags(steered(state, more))).toEqual(expected)
  })

  it("becomes a request for changes where it redirects what is being reviewed", () => {
    const decided = steered(at("in_review"), { kind: "redirect" })
    expect(Result.isSuccess(decided) && decided.success).toMatchObject([
      {
        directive: { status: "relayed", signal: { source: "human-review", verb: "redirect", treeHash: "t" } },
        note: null,
      },
    ])
  })

  it("is relayed at once where a review asks for changes, and waits for a decision everywhere else", () => {
    const status = (state: CoordinatorState, kind: SteerCommand["kind"]) => {
      const decided = steered(state, { kind })
      const [change] = Result.isSuccess(decided) ? decided.success : []
      return change?._tag === "SignalReceived" ? change.directive.status : change
    }
    expect(status(at("in_review"), "amend")).toBe("relayed")
    expect(status(at("rai_blocked"), "redirect")).toBe("pending")
    expect(status(running, "amend")).toBe("pending")
  })

  it("leaves the review as it is where it only sends a note", () => {
    const decided = steered(at("in_review"), {})
    expect(Result.isSuccess(decided) && decided.success).toMatchObject([
      { directive: { status: "applied" }, note: "advisory_note" },
    ])
  })
})
