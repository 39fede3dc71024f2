/**
 * Events by which people steer what a run may do: approvals, questions, switches.
 *
 * The interface names the questions but not every answer to them. So that any replica can rebuild
 * run control from the log alone, the answers are events too; the types marked "ours" are additions
 * to the interface. Members that the interface does not name (`expires_at`, `subject`, who decided)
 * are additions as well.
 */
import { Schema } from "effect"
import { defineEvent } from "#core/event.ts"

const optional = Schema.optionalKey

/** How far a grant reaches. See `core/run/control/state.ts`. */
export const scopes = ["once", "run", "tool", "always"] as const
export const Scope = Schema.Literals(scopes)
export type Scope = (typeof scopes)[number]

export const ToolApprovalRequired = defineEvent(
  "tool.approval_required",
  Schema.Struct({
    request_id: Schema.String,
    tool_name: Schema.String,
    url: optional(Schema.String),
    intention: optional(Schema.String),
    /** What exactly is asked for, where it is not `url`: a digest of the arguments. */
    subject: optional(Schema.String),
    /** ISO 8601; from then on the request is expired. */
    expires_at: optional(Schema.String),
    /** The call that waits for it. */
    callId: optional(Schema.String),
  }),
)

/** A heartbeat, about every 20 s, while a call waits. */
export const ToolApprovalPending = defineEvent(
  "tool.approval_pending",
  Schema.Struct({ requestId: Schema.String, displayId: Schema.String, toolName: Schema.String }),
)

/** Ours: a person allowed the call. */
export const ToolApprovalGranted = defineEvent(
  "tool.approval_granted",
  Schema.Struct({ request_id: Schema.String, tool_name: Schema.String, scope: Scope, granted_by: Schema.String }),
)

/** Ours: a person refused the call. */
export const ToolApprovalDenied = defineEvent(
  "tool.approval_denied",
  Schema.Struct({ request_id: Schema.String, tool_name: Schema.String, denied_by: Schema.String }),
)

/** A decision that was made elsewhere (in the pod), or the end of a wait without one; of a shell command's as well. */
export const ToolApprovalResolved = defineEvent(
  "tool.approval_resolved",
  Schema.Struct({
    request_id: Schema.String,
    tool_name: optional(Schema.String),
    state: Schema.Literals(["approved", "denied", "expired"]),
    /** False where the decision came too late to have an effect. */
    applied: Schema.Boolean,
  }),
)

export const ToolAutoApproved = defineEvent(
  "tool.auto_approved",
  Schema.Struct({
    decisionId: Schema.String,
    toolName: Schema.String,
    approvalSource: Schema.String,
    policySnapshotId: Schema.NullOr(Schema.String),
    previewTarget: Schema.NullOr(Schema.String),
    targetPort: Schema.NullOr(Schema.Int),
    url: optional(Schema.String),
  }),
)

export const ShellApprovalRequired = defineEvent(
  "shell.approval_required",
  Schema.Struct({
    request_id: Schema.String,
    command_length: Schema.Int,
    /** `sha256:` and the digest of the command. */
    command_hash: Schema.String,
    message: Schema.String,
    expires_at: optional(Schema.String),
    /** The call that waits for it. */
    callId: optional(Schema.String),
  }),
)

/** Ours. */
export const ShellApprovalGranted = defineEvent(
  "shell.approval_granted",
  Schema.Struct({ command_hash: Schema.String, granted_by: Schema.String }),
)

/** Ours. */
export const ShellApprovalDenied = defineEvent(
  "shell.approval_denied",
  Schema.Struct({ command_hash: Schema.String, denied_by: Schema.String }),
)

/** Ours: the command was run; its approval is used up. */
export const ShellApprovalUsed = defineEvent(
  "shell.approval_used",
  Schema.Struct({ command_hash: Schema.String, callId: optional(Schema.String) }),
)

export const QuestionAsked = defineEvent(
  "agent.question_asked",
  Schema.Struct({
    requestId: Schema.String,
    question: Schema.String,
    expiresAt: optional(Schema.String),
    /** The call that waits for it. */
    callId: optional(Schema.String),
  }),
)

export const QuestionAnswered = defineEvent(
  "agent.question_answered",
  Schema.Struct({
    requestId: Schema.String,
    answer: Schema.NullOr(Schema.String),
    timedOut: Schema.Boolean,
    answeredBy: optional(Schema.String),
  }),
)

/** Ours: the switch was set, by a person or by the start of the run. */
export const AutoApproveChanged = defineEvent(
  "run.auto_approve_changed",
  Schema.Struct({ enabled: Schema.Boolean, changedBy: Schema.String }),
)

/** Ours. */
export const AutopilotChanged = defineEvent(
  "run.autopilot_changed",
  Schema.Struct({ enabled: Schema.Boolean, changedBy: Schema.String }),
)

/** On the coordinator's log: a child waits for a decision, which may be sent to either run. */
export const ChildApprovalRequired = defineEvent(
  "coordinator.child_approval_required",
  Schema.Struct({
    childRunId: Schema.String,
    subtaskId: Schema.NullOr(Schema.Int),
    requestId: Schema.String,
    toolName: Schema.String,
    url: optional(Schema.String),
    message: optional(Schema.String),
  }),
)

/** On the coordinator's log: a child asks a question. */
export const ChildQuestion = defineEvent(
  "coordinator.child_question",
  Schema.Struct({
    childRunId: Schema.String,
    subtaskId: Schema.NullOr(Schema.Int),
    requestId: Schema.String,
    question: Schema.String,
  }),
)
