import { it } from "@effect/vitest"
import { Schema } from "effect"
import { describe, expect } from "vitest"
import {
  recoveryAttemptsPerSubtask,
  SteeringAnswer,
  SteeringAsk,
  type SteeringBudgets,
  type SteeringSignal,
  type SubtaskView,
  steeringIterationsPerPlan,
} from "#policies/steering/model.ts"
import { steer } from "#policies/steering/steer.ts"

const subtask = (subtaskId: number, more: Partial<SubtaskView> = {}): SubtaskView => ({
  subtaskId,
  status: "assemble_ready",
  assignedAgent: `agent-${subtaskId}`,
  childRunId: `child-${subtaskId}`,
  resumable: true,
  hasContext: true,
  touchedFiles: [`src/${subtaskId}.ts`],
  eligibleAgents: [`agent-${subtaskId}`, "reserve"],
  lockedOutAgents: [],
  recoveryAttempts: 0,
  ...more,
})

interface Given {
  readonly signal?: Partial<SteeringSignal>
  readonly subtasks?: ReadonlyArray<SubtaskView>
  readonly dependencies?: ReadonlyArray<readonly [subtaskId: number, dependsOnSubtaskId: number]>
  readonly used?: number
  readonly reviewGateArmed?: boolean
}

const budgets = (steeringIterationsUsed: number): SteeringBudgets => ({
  recoveryAttemptsPerSubtask,
  steeringIterationsPerPlan,
  steeringIterationsUsed,
})

const decide = ({
  signal,
  subtasks = [subtask(1), subtask(2)],
  dependencies = [],
  used = 0,
  reviewGateArmed = false,
}: Given) =>
  steer({
    signal: {
      coordinatorRunId: "run",
      source: "rai",
      targetScope: { kind: "work-plan" },
      feedback: "not like this",
      severity: "request-changes",
      verb: "redirect",
      treeHash: null,
      targetFiles: ["src/1.ts"],
      createdBy: "gate",
      ...signal,
    },
    plan: {
      workPlanId: 1,
      status: "assembling",
      reviewGateArmed,
      subtasks,
      dependencies: dependencies.map(([subtaskId, dependsOnSubtaskId]) => ({ subtaskId, dependsOnSubtaskId })),
    },
    budgets: budgets(used),
  })

const stranger = { touchedFiles: [] }
const lonely = { eligibleAgents: ["agent-1"] }

const table: ReadonlyArray<readonly [behaviour: string, given: Given, expected: Partial<SteeringAnswer>]> = [
  [
    "takes no action on an advisory signal",
    { signal: { severity: "advisory" } },
    { decision: "advisory", subtaskIds: [] },
  ],
  [
    "keeps a note during human review as a note",
    { signal: { source: "human-review", verb: "send" }, reviewGateArmed: true },
    { decision: "advisory", rationale: "advisory_note" },
  ],
  [
    "ends what is told to stop, even by an advisory signal",
    { signal: { verb: "stop", severity: "advisory", targetScope: { kind: "subtask", subtaskIds: [2] } } },
    { decision: "proceed", rationale: "stop_requested", subtaskIds: [2] },
  ],
  [
    "corrects a child that can be resumed in place",
    { signal: { verb: "amend" } },
    { decision: "in_place_steer", subtaskIds: [1], assignments: [], attempt: 1 },
  ],
  [
    "passes a message on to a running child",
    { signal: { verb: "send", targetScope: { kind: "run", childRunId: "child-2" } } },
    { decision: "in_place_steer", subtaskIds: [2] },
  ],
  [
    "dispatches afresh, to the same agent, a child whose pod is gone",
    { signal: { verb: "amend" }, subtasks: [subtask(1, { resumable: false }), subtask(2)] },
    {
      decision: "dispatch_fresh",
      rationale: "not_resumable",
      assignments: [{ subtaskId: 1, assignedAgent: "agent-1", lockedOutAgents: [] }],
    },
  ],
  [
    "locks out only the author of the named file",
    {},
    {
      decision: "dispatch_fresh",
      rationale: "author_locked_out",
      subtaskIds: [1],
      implicatedSubtaskIds: [1],
      assignments: [{ subtaskId: 1, assignedAgent: "reserve", lockedOutAgents: ["agent-1"] }],
      scopeFallback: null,
    },
  ],
  [
    "dispatches what depends on it, directly or not, without a lockout",
    {
      subtasks: [subtask(1), subtask(2), subtask(3), subtask(4)],
      dependencies: [
        [2, 1],
        [3, 2],
      ],
    },
    {
      subtaskIds: [1, 2, 3],
      dependentSubtaskIds: [2, 3],
      assignments: [
        { subtaskId: 1, assignedAgent: "reserve", lockedOutAgents: ["agent-1"] },
        { subtaskId: 2, assignedAgent: "agent-2", lockedOutAgents: [] },
        { subtaskId: 3, assignedAgent: "agent-3", lockedOutAgents: [] },
      ],
    },
  ],
  [
    "leaves alone a dependent that has not begun",
    { subtasks: [subtask(1), subtask(2, { status: "pending" })], dependencies: [[2, 1]] },
    { subtaskIds: [1], dependentSubtaskIds: [] },
  ],
  [
    "ends with dependencies that go in a circle",
    {
      dependencies: [
        [1, 2],
        [2, 1],
      ],
    },
    { subtaskIds: [1, 2], dependentSubtaskIds: [2] },
  ],
  [
    "passes over an agent that was locked out before",
    {
      subtasks: [subtask(1, { eligibleAgents: ["agent-1", "first", "second"], lockedOutAgents: ["first"] })],
    },
    { assignments: [{ subtaskId: 1, assignedAgent: "second", lockedOutAgents: ["first", "agent-1"] }] },
  ],
  [
    "lets the only eligible agent go on from its context, with no lockout",
    { subtasks: [subtask(1, lonely)] },
    {
      decision: "dispatch_fresh",
      rationale: "single_eligible_agent",
      assignments: [{ subtaskId: 1, assignedAgent: "agent-1", lockedOutAgents: [] }],
    },
  ],
  [
    "asks a person where the lockout leaves nobody and nothing",
    { subtasks: [subtask(1, { ...lonely, hasContext: false })] },
    { decision: "proceed", escalation: "human_review", rationale: "lockout_no_context", subtaskIds: [1] },
  ],
  [
    "means every contributor where no file was named",
    { signal: { targetFiles: null }, subtasks: [subtask(1), subtask(2), subtask(3, stranger)] },
    {
      subtaskIds: [1, 2],
      scopeFallback: {
        reason: "no_target_files_field",
        namedFiles: [],
        touchedFiles: ["src/1.ts", "src/2.ts"],
        contributorIds: [1, 2],
      },
    },
  ],
  [
    "means every contributor where the named file is nobody's",
    { signal: { targetFiles: ["docs/x.md"] } },
    {
      subtaskIds: [1, 2],
      scopeFallback: {
        reason: "target_files_matched_nothing",
        namedFiles: ["docs/x.md"],
        touchedFiles: ["src/1.ts", "src/2.ts"],
        contributorIds: [1, 2],
      },
    },
  ],
  [
    "takes ./src//1.ts for src/1.ts",
    { signal: { targetFiles: ["./src//1.ts"] } },
    { subtaskIds: [1], scopeFallback: null },
  ],
  ["does not take src/1.tsx for src/1.ts", { signal: { targetFiles: ["src/1.tsx"] } }, { subtaskIds: [1, 2] }],
  [
    "asks a person where nobody contributed",
    { subtasks: [subtask(1, stranger)] },
    { decision: "proceed", escalation: "human_review", rationale: "no_contributors" },
  ],
  [
    "does not widen a signal to others where its target is unknown",
    { signal: { targetScope: { kind: "subtask", subtaskIds: [9] } } },
    { decision: "proceed", escalation: "human_review", rationale: "target_not_found", subtaskIds: [] },
  ],
  [
    "locks nobody out for an agent's own request",
    { signal: { source: "agent", verb: "dispatch-fresh" } },
    {
      decision: "dispatch_fresh",
      rationale: "fresh_dispatch_requested",
      assignments: [{ subtaskId: 1, assignedAgent: "agent-1", lockedOutAgents: [] }],
    },
  ],
  [
    "asks a person after six decisions",
    { used: 6 },
    { decision: "proceed", escalation: "human_review", rationale: "steering_budget_exhausted" },
  ],
  ["still decides the sixth time", { used: 5 }, { decision: "dispatch_fresh" }],
  [
    "asks a person after three attempts at one subtask",
    { subtasks: [subtask(1, { recoveryAttempts: 3 }), subtask(2)] },
    { decision: "proceed", escalation: "human_review", rationale: "recovery_attempts_exhausted", subtaskIds: [1] },
  ],
  [
    "counts the attempt that it starts",
    { subtasks: [subtask(1, { recoveryAttempts: 2 })] },
    { decision: "dispatch_fresh", attempt: 3 },
  ],
  [
    "locks out the author where a person sends assembled work back",
    { signal: { source: "human-review", treeHash: "t" } },
    {
      rationale: "author_locked_out",
      assignments: [{ subtaskId: 1, assignedAgent: "reserve", lockedOutAgents: ["agent-1"] }],
    },
  ],
  [
    "locks nobody out where a person redirects work that was not assembled",
    { signal: { source: "human-review" } },
    {
      rationale: "fresh_dispatch_requested",
      assignments: [{ subtaskId: 1, assignedAgent: "agent-1", lockedOutAgents: [] }],
    },
  ],
  [
    "starts every budget anew where a person wants changes",
    { signal: { source: "human-review" }, used: 6, subtasks: [subtask(1, { recoveryAttempts: 3 })] },
    { decision: "dispatch_fresh", resetBudgets: true, attempt: 1 },
  ],
  [
    "spends the recoveries of a subtask where a person only wants the same again",
    {
      signal: { source: "human-review", verb: "dispatch-fresh" },
      used: 6,
      subtasks: [subtask(1, { recoveryAttempts: 2 })],
    },
    { decision: "dispatch_fresh", resetBudgets: false, attempt: 3 },
  ],
  [
    "asks a person whose recovery comes too late",
    { signal: { source: "human-review", verb: "dispatch-fresh" }, subtasks: [subtask(1, { recoveryAttempts: 3 })] },
    { rationale: "recovery_attempts_exhausted", escalation: "human_review" },
  ],
]

describe("the built-in steering", () => {
  it.each(table)("%s", (_, given, expected) => {
    expect(decide(given)).toMatchObject(expected)
  })

  it.prop("answers what its schema allows, within the plan, whatever it is asked", [SteeringAsk], ([ask]) => {
    const answer = steer(ask)
    expect(Schema.is(SteeringAnswer)(answer)).toBe(true)
    const known = new Set(ask.plan.subtasks.map(({ subtaskId }) => subtaskId))
    if (answer.rationale !== "stop_requested") for (const id of answer.subtaskIds) expect(known).toContain(id)
    for (const { subtaskId, assignedAgent, lockedOutAgents } of answer.assignments) {
      const before = ask.plan.subtasks.filter((each) => each.subtaskId === subtaskId)
      const takenOver = before.every((each) => each.assignedAgent !== assignedAgent)
      if (takenOver) expect(lockedOutAgents).not.toContain(assignedAgent)
    }
  })
})
