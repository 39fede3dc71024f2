/** What of a question the log of a run keeps, by what was answered. */
import { describe, expect, it } from "vitest"
import { assemblyGate } from "#policies/assembly-gate/question.ts"
import { raiReview } from "#policies/rai/question.ts"

const diff = "+the key is under the mat\n"
const ask = { runId: "run", workPlanId: 1, treeHash: null, files: [], diff, replies: [] }
const assembled = { runId: "run", workPlanId: 1, integrationBranch: "b", treeHash: null, files: [], diff }

describe("what the log keeps of a change", () => {
  it.each(["green", "yellow"] as const)("is all of it where the verdict is %s", (verdict) => {
    expect(raiReview.kept?.(ask, { verdict, rationale: "" })).toEqual(ask)
  })

  it.each(["revise", "red", "ask_reviewer"] as const)("is no line of it where the verdict is %s", (verdict) => {
    const kept = raiReview.kept?.(ask, { verdict, rationale: "" })
    expect(kept?.diff).toMatch(/^\[withheld: 26 characters, sha256:[0-9a-f]{64}\]$/)
    expect(kept).toEqual({ ...ask, diff: kept?.diff })
  })

  it("is no line of it where a gate refuses", () => {
    expect(assemblyGate.kept?.(assembled, { decision: "allow" })).toEqual(assembled)
    expect(assemblyGate.kept?.(assembled, { decision: "refuse", reason: "" })?.diff).toMatch(/^\[withheld: /)
  })
})
