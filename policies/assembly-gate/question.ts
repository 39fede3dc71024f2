/** `assembly.gate`: may what was assembled go before a person? For licence, size and secret checks. Nothing is refused without a plugin. */
import { Duration, Schema } from "effect"
import { guardQuestion } from "#core/hook.ts"
import { ChangedFile, runId, text, treeHash, withheld } from "#policies/fields.ts"

/** A native gate may run a scanner over the diff. */
const timeLimit = Duration.seconds(60)

export const assemblyGate = guardQuestion({
  name: "assembly.gate",
  summary: "The work of all children was assembled and would go to human review.",
  ask: Schema.Struct({
    runId,
    workPlanId: Schema.Int,
    integrationBranch: text,
    treeHash,
    files: Schema.Array(ChangedFile),
    diff: text,
  }),
  timeLimit,
  kept: (ask, { decision }) => (decision === "allow" ? ask : { ...ask, diff: withheld(ask.diff) }),
})
