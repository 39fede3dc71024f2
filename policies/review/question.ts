/** `review.accept`: does this approval count? For four eyes and owners of files. Nothing is refused without a plugin. */
import { Schema } from "effect"
import { guardQuestion } from "#core/hook.ts"
import { nullable, runId, text, treeHash } from "#policies/fields.ts"

export const reviewAccept = guardQuestion({
  name: "review.accept",
  summary: "A person approves what a run made, which would then be merged.",
  ask: Schema.Struct({
    runId,
    projectId: nullable,
    scope: Schema.Literals(["run", "assembly"]).annotate({ description: "One run, or the assembled work of a plan." }),
    reviewer: text,
    submittedBy: text.annotate({ description: "Who started the run." }),
    treeHash,
    targetBranch: nullable,
    files: Schema.Array(Schema.String).annotate({ description: "Paths that the merge would change." }),
  }),
})
