/** Events of steering: what somebody wanted changed, and what the coordinator decided. "Ours" marks additions. */
import { Schema } from "effect"
import { defineEvent } from "#core/event.ts"

const optional = Schema.optionalKey
const text = Schema.String
const ids = Schema.Array(Schema.Int)
const texts = Schema.Array(Schema.String)

/** A directive moved on in its life. */
export const Steering = defineEvent(
  "coordinator.steering",
  Schema.Struct({
    directiveId: Schema.Int,
    kind: text,
    targetChildRunId: Schema.NullOr(text),
    status: text,
    instruction: text,
    source: optional(text),
    humanReviewRoundTrip: optional(Schema.Int),
    note: optional(text),
  }),
)

export const SteeringReceived = defineEvent(
  "coordinator.steering_received",
  Schema.Struct({
    directiveId: Schema.Int,
    source: text,
    severity: text,
    verb: text,
    targetScope: Schema.Struct({ kind: text, subtaskIds: optional(ids), childRunId: optional(text) }),
    feedback: text,
    treeHash: Schema.NullOr(text),
    /** Ours. */
    targetFiles: optional(texts),
    createdBy: optional(text),
  }),
)

const Budget = Schema.Struct({
  steeringIterations: Schema.Int,
  recoveryAttempts: Schema.Array(Schema.Struct({ subtaskId: Schema.Int, used: Schema.Int })),
})

export const SteeringDecision = defineEvent(
  "coordinator.steering_decision",
  Schema.Struct({
    directiveId: Schema.Int,
    decision: Schema.Literals(["in_place_steer", "dispatch_fresh", "proceed", "advisory"]),
    rationale: text,
    subtaskIds: ids,
    attempt: Schema.Int,
    escalation: optional(Schema.Literal("human_review")),
    disposition: optional(Schema.Literal("rejection")),
    /** Ours: what the decision was made from, so that it can be explained later. */
    implicatedSubtaskIds: optional(ids),
    dependentSubtaskIds: optional(ids),
    assignments: optional(
      Schema.Array(Schema.Struct({ subtaskId: Schema.Int, assignedAgent: text, lockedOutAgents: texts })),
    ),
    candidates: optional(Schema.Array(Schema.Struct({ subtaskId: Schema.Int, eligibleAgents: texts }))),
    budgetBefore: optional(Budget),
    budgetAfter: optional(Budget),
    /** What a policy answered that the coordinator does not do. */
    corrections: optional(texts),
  }),
)

export const ScopeFallback = defineEvent(
  "coordinator.assembly_implicated_scope_fallback",
  Schema.Struct({
    workPlanId: Schema.Int,
    source: text,
    reviewer: text,
    reason: Schema.Literals(["no_target_files_field", "target_files_matched_nothing"]),
    namedFiles: texts,
    touchedFiles: texts,
    contributorIds: ids,
  }),
)

export const AssemblyChangesRequested = defineEvent(
  "coordinator.assembly_changes_requested",
  Schema.Struct({
    workPlanId: Schema.Int,
    redispatchSubtaskIds: ids,
    redispatchedSubtaskIds: ids,
    implicatedSubtaskIds: ids,
    dependentSubtaskIds: ids,
    feedback: text,
  }),
)
