/** What the responsible-AI pass knows, and what it can come to. */
import { Schema } from "effect"
import { ChangedFile, runId, treeHash } from "#policies/fields.ts"

export const RaiAsk = Schema.Struct({
  runId,
  workPlanId: Schema.NullOr(Schema.Int),
  treeHash,
  files: Schema.Array(ChangedFile),
  diff: Schema.String.annotate({ description: "Unified diff of everything that would be merged." }),
  replies: Schema.Array(Schema.String).annotate({
    description:
      "What the reviewer answered so far, oldest first: none before it was asked, two after it was asked again.",
  }),
})
export type RaiAsk = typeof RaiAsk.Type

export const RaiAnswer = Schema.Struct({
  verdict: Schema.Literals(["green", "yellow", "revise", "red", "ask_reviewer"]).annotate({
    description: "`ask_reviewer`: the reviewer has to be asked (again) before anything can be said.",
  }),
  rationale: Schema.String,
  reason: Schema.optionalKey(Schema.Literals(["unparseable_after_reask", "policy_unavailable"])),
})
export type RaiAnswer = typeof RaiAnswer.Type
