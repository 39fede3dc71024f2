import { describe, expect, it } from "vitest"
import type { SteeringAnswer } from "#policies/steering/model.ts"
import { steer } from "#policies/steering/steer.ts"
import { newDirective } from "#runtime/coordinator/outcome.ts"
import { admit } from "#runtime/coordinator/steering/admit.ts"
import { steeringAsk } from "#runtime/coordinator/steering/ask.ts"
import { aChild, aPlan, begun, planned, runId } from "#runtime/coordinator/test/states.ts"

const askOf = (
  more: {
    source?: "rai" | "human-review"
    verb?: "redirect" | "dispatch-fresh"
    used?: number
    attempts?: number
    resumable?: boolean
  } = {},
) => {
  const subtasks = [
    begun(1, "assemble_ready", { recoveryAttempts: more.attempts ?? 0 }),
    begun(2, "assemble_ready", { role: "tester", assignedAgent: "Ines" }),
  ]
  const child = aChild("child-1", { status: "assemble_ready", resumable: more.resumable ?? true })
  const state = planned(aPlan(subtasks, { status: "assembly_steering", steeringIterations: more.used ?? 0 }), {
    children: { "child-1": child },
  })
  return steeringAsk(
    state,
    newDirective(
      {
        coordinatorRunId: runId,
        source: more.source ?? "rai",
        targetScope: { kind: "work-plan" },
        feedback: "no",
        severity: "request-changes",
        verb: more.verb ?? "redirect",
        treeHash: "t",
        targetFiles: ["src/child-1.ts"],
        createdBy: "gate",
      },
      { id: 1, at: "" },
    ),
  )
}

const answer = (more: Partial<SteeringAnswer> = {}): SteeringAnswer => ({
  decision: "dispatch_fresh",
  rationale: "own",
  subtaskIds: [1],
  attempt: 7,
  implicatedSubtaskIds: [1],
  dependentSubtaskIds: [],
  assignments: [],
  resetBudgets: false,
  scopeFallback: null,
  ...more,
})

describe("a policy's answer", () => {
  it("is taken as it is where it is the service's own", () => {
    const ask = askOf()
    expect(admit(ask, steer(ask))).toEqual({ answer: steer(ask), corrections: [] })
  })

  it("counts the attempt itself, and leaves the work with who has it where nobody else was named", () => {
    const { answer: taken } = admit(askOf({ attempts: 1 }), answer())
    expect(taken).toMatchObject({ attempt: 2, assignments: [{ subtaskId: 1, assignedAgent: "Vera" }] })
  })

  it.each<readonly [string, Parameters<typeof askOf>[0], Partial<SteeringAnswer>, Partial<SteeringAnswer>, string]>([
    ["names no strangers", {}, { subtaskIds: [1, 9] }, { subtaskIds: [1] }, "unknown_subtasks"],
    [
      "asks a person where it names nobody",
      {},
      { subtaskIds: [], implicatedSubtaskIds: [] },
      { decision: "proceed", escalation: "human_review", rationale: "target_not_found" },
      "target_not_found",
    ],
    [
      "does not go beyond the budget of the plan",
      { used: 6 },
      {},
      { decision: "proceed", escalation: "human_review", rationale: "steering_budget_exhausted" },
      "steering_budget_exhausted",
    ],
    [
      "does not go beyond the budget of a subtask",
      { attempts: 3 },
      {},
      { decision: "proceed", escalation: "human_review", rationale: "recovery_attempts_exhausted" },
      "recovery_attempts_exhausted",
    ],
    [
      "does not reset budgets in the place of a person",
      { attempts: 3 },
      { resetBudgets: true },
      { decision: "proceed", resetBudgets: false },
      "only_a_person_resets_budgets",
    ],
    [
      "gives no work to whom it does not fit",
      {},
      { assignments: [{ subtaskId: 1, assignedAgent: "Ines", lockedOutAgents: ["Vera"] }] },
      { assignments: [{ subtaskId: 1, assignedAgent: "Vera", lockedOutAgents: [] }] },
      "agent_not_eligible",
    ],
    [
      "gives no work to whom it locks out",
      {},
      { assignments: [{ subtaskId: 1, assignedAgent: "Otto", lockedOutAgents: ["Otto"] }] },
      { assignments: [{ subtaskId: 1, assignedAgent: "Vera", lockedOutAgents: [] }] },
      "agent_not_eligible",
    ],
    [
      "does not renew budgets for the same again, even for a person",
      { source: "human-review", verb: "dispatch-fresh", attempts: 2, used: 6 },
      { resetBudgets: true },
      { resetBudgets: false, attempt: 3 },
      "only_a_person_resets_budgets",
    ],
    [
      "does not correct in place what cannot be resumed",
      { resumable: false },
      { decision: "in_place_steer" },
      { decision: "dispatch_fresh", rationale: "not_resumable" },
      "not_resumable",
    ],
  ])("%s", (_, ask, given, taken, correction) => {
    const admitted = admit(askOf(ask), answer(given))
    expect(admitted.answer).toMatchObject(taken)
    expect(admitted.corrections).toContain(correction)
  })

  it("may do for a person what it may not do alone", () => {
    const admitted = admit(askOf({ source: "human-review", used: 6, attempts: 3 }), answer({ resetBudgets: true }))
    expect(admitted).toMatchObject({ answer: { decision: "dispatch_fresh", attempt: 1 }, corrections: [] })
  })
})
