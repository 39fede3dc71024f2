import { describe, expect, it } from "vitest"
import type { Action } from "#runtime/coordinator/action.ts"
import { next } from "#runtime/coordinator/next.ts"
import { newDirective } from "#runtime/coordinator/outcome.ts"
import type { CoordinatorState, Directive } from "#runtime/coordinator/state.ts"
import { aChild, aPlan, aSpec, aState, aSubtask, begun, planned, runId } from "#runtime/coordinator/test/states.ts"
import { waitsOf } from "#runtime/coordinator/waits.ts"

const minute = 60_000
const run = (more: Partial<CoordinatorState["run"]>) => ({ ...aState().run, ...more })
const ready = [begun(1, "assemble_ready"), begun(2, "completed")]
const children = { "child-2": aChild("child-2", { status: "completed" }) }
const assembling = (assembly: object, more: object = {}) =>
  planned(aPlan(ready, { status: "assembling", assembly: { ...aPlan([]).assembly, round: 1, ...assembly }, ...more }), {
    children,
  })

const directive = (more: Partial<Directive> = {}): Directive => ({
  ...newDirective(
    {
      coordinatorRunId: runId,
      source: "human-review",
      targetScope: { kind: "work-plan", subtaskIds: [1] },
      feedback: "shorter",
      severity: "request-changes",
      verb: "amend",
      treeHash: null,
      targetFiles: null,
      createdBy: "eve",
    },
    { id: 9, at: "" },
  ),
  ...more,
})
const queued = directive({ status: "queued", decision: "in_place_steer", attempt: 1, targets: [1] })

const table: ReadonlyArray<readonly [behaviour: string, state: CoordinatorState, actions: ReadonlyArray<unknown>]> = [
  ["starts a run that is pending", aState({ run: run({ status: "pending" }) }), [{ changes: [{ _tag: "Started" }] }]],
  ["makes the goal the spec where nobody is to be asked", aState(), [{ _tag: "SynthesizeSpec" }]],
  ["drafts a spec where a person is to be asked", aState({ startMode: "defineOutcome" }), [{ _tag: "DraftSpec" }]],
  ["waits for a person with a drafted spec", aState({ spec: { ...aSpec, status: "awaiting_confirmation" } }), []],
  [
    "confirms it on autopilot, in the name of who asked",
    aState({ run: run({ autopilot: true }), spec: { ...aSpec, status: "awaiting_confirmation" } }),
    [{ changes: [{ _tag: "SpecConfirmed", by: "ada" }] }],
  ],
  [
    "answers what the spec asks first, where nobody is to be asked",
    aState({
      run: run({ autopilot: true }),
      spec: { ...aSpec, status: "awaiting_confirmation", clarifyingQuestions: "?" },
    }),
    [{ _tag: "AnswerQuestion", childRunId: null, requestId: "outcome-spec-1", question: "?" }],
  ],
  ["drafts again what a person sent back", aState({ spec: { ...aSpec, status: "drafting" } }), [{ _tag: "DraftSpec" }]],
  ["parts what was confirmed", aState({ spec: aSpec }), [{ _tag: "Decompose" }]],
  ["begins with a plan at once", planned(aPlan([], { status: "planned" })), [{ changes: [{ _tag: "DispatchBegan" }] }]],
  [
    "starts what depends on nothing, at the same time",
    planned(aPlan([aSubtask(1), aSubtask(2), aSubtask(3)], {}, [[3, 1]])),
    [
      { _tag: "Dispatch", subtaskId: 1, attempt: 1, base: [] },
      { _tag: "Dispatch", subtaskId: 2, attempt: 1, base: [] },
    ],
  ],
  [
    "starts no more than may work at the same time",
    planned(aPlan([begun(1, "running"), aSubtask(2), aSubtask(3)]), { limits: { ...aState().limits, width: 2 } }),
    [{ _tag: "Dispatch", subtaskId: 2 }],
  ],
  [
    "starts nothing where there is no place",
    planned(aPlan([aSubtask(1)]), { limits: { ...aState().limits, capacity: 0 } }),
    [],
  ],
  [
    "answers what a child asks on autopilot, before anything else",
    planned(aPlan([begun(1, "running"), aSubtask(2)]), {
      run: run({ autopilot: true }),
      children: { "child-1": aChild("child-1", { waiting: true, questions: [{ requestId: "q", question: "why?" }] }) },
    }),
    [
      { _tag: "AnswerQuestion", childRunId: "child-1", requestId: "q", question: "why?" },
      { _tag: "Dispatch", subtaskId: 2 },
    ],
  ],
  [
    "leaves what a child asks to people where autopilot is off",
    planned(aPlan([begun(1, "running")]), {
      children: { "child-1": aChild("child-1", { waiting: true, questions: [{ requestId: "q", question: "why?" }] }) },
    }),
    [],
  ],
  [
    "gives a dependent the work that it depends on, directly or not",
    planned(
      aPlan([begun(1, "assemble_ready"), begun(2, "assemble_ready"), aSubtask(3)], {}, [
        [3, 2],
        [2, 1],
      ]),
    ),
    [{ _tag: "Dispatch", subtaskId: 3, base: [1, 2] }],
  ],
  [
    "gives what is done again after a conflict the work of all others",
    planned(aPlan([begun(1, "assemble_ready"), aSubtask(2, { onTop: true })])),
    [{ _tag: "Dispatch", subtaskId: 2, base: [1] }],
  ],
  ["waits while a child works", planned(aPlan([begun(1, "running")])), []],
  ["sees a child begin", planned(aPlan([begun(1, "dispatched")])), [{ changes: [{ _tag: "ChildRunning" }] }]],
  [
    "sees a child end",
    planned(aPlan([begun(1, "running")]), { children: { "child-1": aChild("child-1", { status: "assemble_ready" }) } }),
    [{ changes: [{ _tag: "ChildSettled", end: "assemble_ready" }] }],
  ],
  [
    "takes unsafe content for what it is",
    planned(aPlan([begun(1, "running")]), {
      children: { "child-1": aChild("child-1", { status: "failed", result: "content_safety" }) },
    }),
    [{ changes: [{ _tag: "ChildSettled", end: "rai_flagged" }] }],
  ],
  [
    "does not try again what a person cancelled",
    planned(aPlan([begun(1, "running")]), {
      children: { "child-1": aChild("child-1", { status: "failed", result: "cancelled", retryable: true }) },
    }),
    [{ changes: [{ _tag: "ChildSettled", end: "stopped" }] }],
  ],
  [
    "brings a failure that may go better to steering",
    planned(aPlan([begun(1, "failed")]), {
      children: { "child-1": aChild("child-1", { status: "failed", result: "boom", retryable: true }) },
    }),
    [{ _tag: "Signal", signal: { source: "coordinator", verb: "dispatch-fresh", targetScope: { subtaskIds: [1] } } }],
  ],
  [
    "blocks what stands on a failure, directly or not",
    planned(
      aPlan([begun(1, "failed"), aSubtask(2), aSubtask(3)], {}, [
        [2, 1],
        [3, 2],
      ]),
    ),
    [{ changes: [{ _tag: "DependentsMoved", blocked: [2, 3], unblocked: [] }] }],
  ],
  [
    "unblocks what no longer does",
    planned(aPlan([begun(1, "running"), aSubtask(2, { status: "blocked" })], {}, [[2, 1]])),
    [{ changes: [{ _tag: "DependentsMoved", blocked: [], unblocked: [2] }] }],
  ],
  [
    "is through when every child is",
    planned(aPlan(ready), { children }),
    [{ changes: [{ _tag: "ChildrenCompleted" }] }],
  ],
  [
    "assembles what can be assembled",
    planned(aPlan(ready, { status: "awaiting_assembly" }), { children }),
    [{ changes: [{ _tag: "AssemblyStarted" }] }],
  ],
  [
    "does not assemble a part of it",
    planned(aPlan([...ready, begun(3, "failed")], { status: "awaiting_assembly" })),
    [{ changes: [{ _tag: "AssemblyBlocked", reason: "ineligible_subtasks" }] }],
  ],
  ["integrates in the order of the plan", assembling({ stage: "integrate" }), [{ _tag: "Integrate", order: [1, 2] }]],
  ["announces a gate once", assembling({ stage: "rai" }), [{ changes: [{ _tag: "GateStarted", gateId: "2-rai-1" }] }]],
  ["asks a gate that was announced", assembling({ stage: "rai", gateId: "g" }), [{ _tag: "RunGate", gate: "rai" }]],
  ["asks a person", assembling({ stage: "review" }), [{ _tag: "RequestReview", gateId: "2-human-review-1" }]],
  [
    "merges the tree that was approved",
    assembling({ stage: "merge", commit: "c", treeHash: "t", approvedTreeHash: "t", approvedBy: "eve" }),
    [{ _tag: "Merge", commit: "c", treeHash: "t", approvedBy: "eve" }],
  ],
  [
    "asks again where another tree was approved",
    assembling({ stage: "merge", commit: "c", treeHash: "t", approvedTreeHash: "u", approvedBy: "eve" }),
    [{ _tag: "RequestReview" }],
  ],
  ["lets the scribe write", assembling({ stage: "scribe" }), [{ _tag: "Scribe" }]],
  ["ends", assembling({ stage: "done" }), [{ changes: [{ _tag: "Completed" }] }]],
  [
    "decides a directive before anything else",
    { ...assembling({ stage: "rai" }, { status: "assembly_steering" }), directives: [directive()] },
    [{ _tag: "Decide", directiveId: 9 }],
  ],
  [
    "gives a child its correction, and starts nothing meanwhile",
    planned(aPlan([begun(1, "assemble_ready"), aSubtask(2)]), { directives: [queued] }),
    [{ _tag: "SteerChild", subtaskId: 1, childRunId: "child-1", instruction: "shorter" }],
  ],
  [
    "decides anew where that child is gone",
    planned(aPlan([begun(1, "assemble_ready")]), {
      directives: [queued],
      children: { "child-1": aChild("child-1", { status: "assemble_ready", resumable: false }) },
    }),
    [{ _tag: "Decide", directiveId: 9 }],
  ],
  [
    "is done with a directive when its targets are ready and have their markers",
    planned(aPlan([begun(1, "assemble_ready"), begun(2, "running")]), {
      directives: [{ ...queued, status: "relayed", revised: [1] }],
    }),
    [{ changes: [{ _tag: "DirectiveApplied", directiveId: 9 }] }],
  ],
  [
    "is not done with it while a marker is missing: the child is told first",
    planned(aPlan([begun(1, "assemble_ready"), begun(2, "running")]), {
      directives: [{ ...queued, status: "relayed", revised: [] }],
    }),
    [{ _tag: "SteerChild", directiveId: 9, subtaskId: 1 }],
  ],
  [
    "is not done with it while a target works",
    planned(aPlan([begun(1, "running")]), {
      directives: [{ ...queued, status: "relayed", revised: [1] }],
    }),
    [],
  ],
  [
    "decides what a review sent back, though it is relayed",
    planned(aPlan([begun(1, "assemble_ready")], { status: "assembly_steering" }), {
      directives: [directive({ status: "relayed" })],
    }),
    [{ _tag: "Decide", directiveId: 9 }],
  ],
  ["does nothing once the run has ended", aState({ run: run({ status: "failed" }), spec: aSpec }), []],
]

describe("what the coordinator does next", () => {
  it.each(table)("%s", (_, state, actions) => {
    expect(next(state, 0)).toMatchObject(actions)
    expect(next(state, 0)).toHaveLength(actions.length)
  })

  const silent = (now: number, more: object = {}): ReadonlyArray<Action> =>
    next(planned(aPlan([begun(1, "running", more)])), now)

  it("gives up a child that has been silent for the time of a stall, and not before", () => {
    expect(silent(5 * minute - 1)).toEqual([])
    expect(silent(5 * minute)).toMatchObject([{ changes: [{ _tag: "ChildStalled", redispatched: true }] }])
  })

  it("starts no other child where three have stalled", () => {
    const given = silent(5 * minute, { recoveryAttempts: 3 })
    expect(given).toMatchObject([{ changes: [{ _tag: "ChildStalled", redispatched: false }] }])
  })

  it("does not take a child for stalled that waits for a person", () => {
    const state = planned(aPlan([begun(1, "running")]), {
      children: { "child-1": aChild("child-1", { waiting: true }) },
    })
    expect(next(state, 99 * minute)).toEqual([])
    expect(waitsOf(state, 99 * minute)).toEqual([{ _tag: "Child", childRunId: "child-1", until: null }])
  })
})
