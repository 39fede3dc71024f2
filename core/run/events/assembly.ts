/** Events of the collective assembly: integration, gates, one review, one merge. "Ours" marks additions. */
import { Schema } from "effect"
import { defineEvent } from "#core/event.ts"

const optional = Schema.optionalKey
const text = Schema.String
const ids = Schema.Array(Schema.Int)
const plan = { workPlanId: Schema.Int }
const integrated = { ...plan, integrationBranch: text }

export const AssemblyStarted = defineEvent(
  "coordinator.assembly_started",
  Schema.Struct({ ...integrated, subtaskCount: Schema.Int }),
)

/** The child's side of these files has every change of the others in them: taking it loses no line. */
export const IntegrationConflictAutoResolved = defineEvent(
  "coordinator.integration_conflict_auto_resolved",
  Schema.Struct({
    ...plan,
    conflictingBranch: text,
    conflictingFiles: Schema.Array(text),
    strategy: Schema.Literal("accept_child"),
  }),
)

/** The plan waits for a person, or for infrastructure. It has not ended. */
export const AssemblyBlocked = defineEvent(
  "coordinator.assembly_blocked",
  Schema.Struct({
    ...plan,
    reason: text,
    ineligibleSubtaskIds: optional(ids),
    ineligibleSubtasks: optional(
      Schema.Array(Schema.Struct({ id: Schema.Int, title: text, status: text, agent: text, recoveryGuidance: text })),
    ),
    detail: optional(text),
    exceptionMessage: optional(text),
    innerExceptionMessage: optional(text),
    innerExceptionType: optional(text),
    infrastructureReason: optional(text),
    retryable: optional(Schema.Boolean),
  }),
)

export const AssemblyRaiStarted = defineEvent(
  "coordinator.assembly_rai_started",
  Schema.Struct({ ...integrated, gateId: text }),
)

export const AssemblyRaiCompleted = defineEvent(
  "coordinator.assembly_rai_completed",
  Schema.Struct({ ...integrated, gateId: text, raiSafetyFlagged: Schema.Boolean, verdict: optional(text) }),
)

/** The responsible-AI pass refuses the whole; only a person can let it go on. */
export const RaiBlocked = defineEvent(
  "run.rai_blocked",
  Schema.Struct({ ...integrated, reason: text, requiresHumanOverride: Schema.Boolean }),
)

export const gateKinds = ["build-test", "rubberduck", "human-review"] as const

export const AssemblyReviewRequested = defineEvent(
  "coordinator.assembly_review_requested",
  Schema.Struct({
    ...integrated,
    treeHash: text,
    gateId: text,
    gateKind: optional(Schema.Literals(gateKinds)),
    hasChanges: Schema.Boolean,
    includedSubtaskIds: optional(ids),
    reason: optional(text),
  }),
)

/** Ours: what a gate came to. */
export const AssemblyGateCompleted = defineEvent(
  "coordinator.assembly_gate_completed",
  Schema.Struct({ ...plan, gateId: text, gateKind: text, verdict: text, summary: text }),
)

export const AssemblyReviewApproved = defineEvent(
  "coordinator.assembly_review_approved",
  Schema.Struct({ ...plan, reviewer: text, treeHash: optional(text), overrides: optional(text) }),
)

export const AssemblyMergeStarted = defineEvent("coordinator.assembly_merge_started", Schema.Struct(integrated))

export const AssemblyMergeCompleted = defineEvent(
  "coordinator.assembly_merge_completed",
  Schema.Struct({ ...plan, commitHash: text }),
)

export const AssemblyMergeFailed = defineEvent(
  "coordinator.assembly_merge_failed",
  Schema.Struct({ ...plan, reason: text, conflictingFiles: Schema.Array(text) }),
)

export const AssemblyScribeStarted = defineEvent("coordinator.assembly_scribe_started", Schema.Struct(plan))

export const AssemblyScribeCompleted = defineEvent("coordinator.assembly_scribe_completed", Schema.Struct(plan))

export const AssemblyCompleted = defineEvent(
  "coordinator.assembly_completed",
  Schema.Struct({ ...integrated, commitHash: Schema.NullOr(text) }),
  { mayEndRun: true },
)

export const AssemblyDeclined = defineEvent(
  "coordinator.assembly_declined",
  Schema.Struct({ ...plan, reason: text, reviewer: text }),
  { mayEndRun: true },
)

export const AssemblyFailed = defineEvent(
  "coordinator.assembly_failed",
  Schema.Struct({
    ...plan,
    reason: text,
    phase: text,
    detail: optional(text),
    exceptionMessage: optional(text),
    infrastructureReason: optional(text),
  }),
  { mayEndRun: true },
)
