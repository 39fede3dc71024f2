/** Events of a run's own life: how it began, how it went, how it ended. */
import { Schema } from "effect"
import { defineEvent } from "#core/event.ts"

const optional = Schema.optionalKey

export const RunStarted = defineEvent(
  "run.started",
  Schema.Struct({
    runId: Schema.String,
    agentName: Schema.NullOr(Schema.String),
    /** `run`, `coordinator`, `child`, or `operator` for a session of the assistant. */
    kind: Schema.String,
    parentRunId: optional(Schema.String),
    subtaskId: optional(Schema.Int),
    retriedFrom: optional(Schema.String),
  }),
)

/** The approval policy that a run was launched with. Run control starts from it. */
export const ApprovalPolicySelected = defineEvent(
  "run.approval_policy_selected",
  Schema.Struct({
    autoApproveTools: Schema.Boolean,
    autopilot: Schema.Boolean,
    source: Schema.Literals(["direct", "backlog_pickup", "retry"]),
    capturedAt: Schema.String,
    settingsUpdatedAt: Schema.NullOr(Schema.String),
    inheritedFromRunId: Schema.NullOr(Schema.String),
    safeTools: Schema.Array(Schema.String),
    policySnapshotId: optional(Schema.String),
  }),
)

export const RunOutcome = defineEvent(
  "run.outcome",
  Schema.Struct({ achieved: Schema.Boolean, reason: Schema.NullOr(Schema.String) }),
)

/** `result`: `no_changes`, `complete`, `confirmed`, `declined` or `merged:{hash}`. */
export const RunCompleted = defineEvent("run.completed", Schema.Struct({ result: Schema.String }), {
  mayEndRun: true,
})

export const RunFailed = defineEvent(
  "run.failed",
  Schema.Struct({
    message: Schema.String,
    errorCode: Schema.String,
    retryable: Schema.Boolean,
    correlationId: optional(Schema.String),
    traceId: optional(Schema.String),
    causeChain: optional(Schema.Array(Schema.String)),
  }),
  { mayEndRun: true },
)

export const cancelReasons = ["cancelled", "steering_stop", "steering_redirect", "project_deleted"] as const

export const RunCancelled = defineEvent(
  "run.cancelled",
  Schema.Struct({
    reason: optional(Schema.Literals(cancelReasons)),
    directiveId: optional(Schema.Int),
    cancelledBy: optional(Schema.String),
  }),
  { mayEndRun: true },
)

/** A bound of the run was reached; `run.failed` follows. */
export const RunBounded = defineEvent(
  "run.bounded",
  Schema.Struct({ limit_type: Schema.String, step_count: Schema.Int }),
)

/** An operation failed and the run is where it was before: try again. */
export const RunError = defineEvent("run.error", Schema.Struct({ reason: Schema.String }))

export const RunDegraded = defineEvent(
  "run.degraded",
  Schema.Struct({ toolName: Schema.String, reason: Schema.String }),
)

export const RunAssembleReady = defineEvent(
  "run.assemble_ready",
  Schema.Struct({
    runId: Schema.String,
    subtaskId: Schema.NullOr(Schema.Int),
    parentRunId: Schema.NullOr(Schema.String),
    worktreeBranch: Schema.NullOr(Schema.String),
    treeHash: Schema.NullOr(Schema.String),
    hasChanges: Schema.Boolean,
    stepCount: Schema.Int,
    raiSafetyFlagged: Schema.Boolean,
  }),
  { mayEndRun: true },
)

export const RunNoChangesProduced = defineEvent(
  "run.no_changes_produced",
  Schema.Struct({
    runId: Schema.String,
    subtaskId: Schema.NullOr(Schema.Int),
    parentRunId: Schema.NullOr(Schema.String),
    message: Schema.String,
  }),
)

/** The graph descriptor, once at the start. Its shape belongs to whoever draws it. */
export const RunWorkflowGraph = defineEvent("run.workflow_graph", Schema.Record(Schema.String, Schema.Unknown))

export const WorkflowStep = defineEvent(
  "workflow.step",
  Schema.Struct({
    step: Schema.String,
    status: Schema.String,
    label: Schema.String,
    timestamp_utc: Schema.String,
    agent_name: Schema.NullOr(Schema.String),
    reviewer: Schema.NullOr(Schema.String),
    message: optional(Schema.String),
  }),
)

export const RaiVerdict = defineEvent(
  "rai.verdict",
  Schema.Struct({
    verdict: Schema.Literals(["green", "yellow", "red", "revise"]),
    runId: Schema.String,
    rationale: Schema.String,
  }),
)

export const RaiError = defineEvent(
  "run.rai_error",
  Schema.Struct({ reason: Schema.Literals(["unparseable_after_reask"]) }),
)

/** The scribe could not write; the run is what it was. */
export const ScribeFailed = defineEvent(
  "run.scribe_failed",
  Schema.Struct({
    reason: Schema.String,
    workPlanId: optional(Schema.Int),
    timestamp_utc: optional(Schema.String),
  }),
)
