/** `preview.publish`: may this port of a sandbox be shown under an address of its own? Nothing is refused without a plugin. */
import { Schema } from "effect"
import { guardQuestion } from "#core/hook.ts"
import { nullable, runId, text, treeHash } from "#policies/fields.ts"

export const previewPublish = guardQuestion({
  name: "preview.publish",
  summary: "A preview of a run is about to become reachable.",
  ask: Schema.Struct({
    runId,
    projectId: nullable,
    workPlanId: Schema.NullOr(Schema.Int),
    treeHash,
    targetPort: Schema.Int,
    source: text.annotate({ description: "What asked for it: a gate, an agent's tool, or a person." }),
    requestedBy: text,
    lifetimeMinutes: Schema.Int,
  }),
})
