import { describe, expect, it } from "vitest"
import { recovered } from "#runtime/coordinator/events/recovered.ts"
import { newDirective } from "#runtime/coordinator/outcome.ts"
import { aPlan, aState, aSubtask, begun, planned, runId } from "#runtime/coordinator/test/states.ts"

const payloadOf = (state: Parameters<typeof recovered>[0]) => JSON.parse(recovered(state).payload)

describe("whoever takes a run over", () => {
  it("tells where it goes on", () => {
    expect(payloadOf(aState())).toEqual({ status: "drafting" })
    expect(payloadOf(planned(aPlan([], { status: "in_review" })))).toEqual({ status: "in_review" })
  })

  it("tells which children it looks at again", () => {
    expect(payloadOf(planned(aPlan([begun(1, "running"), begun(2, "completed"), aSubtask(3)])))).toEqual({
      status: "dispatching",
      workPlanId: 2,
      reason: "dispatch_rearm",
      reObservedSubtaskIds: [1],
    })
  })

  it("tells which directive it carries on with", () => {
    const signal = {
      coordinatorRunId: runId,
      source: "human-review" as const,
      targetScope: { kind: "work-plan" as const },
      feedback: "shorter",
      severity: "request-changes" as const,
      verb: "amend" as const,
      treeHash: null,
      targetFiles: null,
      createdBy: "eve",
    }
    const open = { ...newDirective(signal, { id: 9, at: "" }), status: "queued" as const, targets: [1] }
    const state = planned(aPlan([begun(1, "assemble_ready")]), { directives: [open] })
    expect(payloadOf(state)).toMatchObject({
      reason: "steering_resume",
      directiveId: 9,
      resetSubtaskIds: [1],
      instruction: "shorter",
    })
  })
})
