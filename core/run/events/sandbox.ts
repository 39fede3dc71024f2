/** Events of the place where a run's commands are executed, and of its browser preview. */
import { Schema } from "effect"
import { defineEvent } from "#core/event.ts"

const optional = Schema.optionalKey

export const SandboxSelected = defineEvent(
  "sandbox.selected",
  Schema.Struct({ backend: Schema.String, is_real_isolation: Schema.Boolean, reason: Schema.NullOr(Schema.String) }),
)

export const SandboxWarning = defineEvent(
  "sandbox.warning",
  Schema.Struct({
    category: Schema.Literals(["network-unrestricted"]),
    message: Schema.String,
    backend: Schema.String,
  }),
)

/** The run's pod is known. */
export const ExecutionPodBound = defineEvent(
  "sandbox.execution_pod.bound",
  Schema.Struct({ runId: Schema.String, executionPodName: Schema.String }),
)

export const ProvisioningPending = defineEvent(
  "sandbox.provisioning_pending",
  Schema.Struct({
    claimName: Schema.String,
    schedulingReason: Schema.NullOr(Schema.String),
    timestamp_utc: Schema.String,
  }),
)

export const ChildProvisioningPending = defineEvent(
  "coordinator.child_provisioning_pending",
  Schema.Struct({
    childRunId: Schema.String,
    subtaskId: Schema.NullOr(Schema.Int),
    claimName: Schema.String,
    schedulingReason: Schema.NullOr(Schema.String),
    timestamp_utc: Schema.String,
  }),
)

const preview = {
  run_id: Schema.String,
  work_plan_id: Schema.NullOr(Schema.Int),
  tree_hash: Schema.NullOr(Schema.String),
}

export const PreviewApplicability = defineEvent(
  "sandbox.preview_applicability",
  Schema.Struct({
    ...preview,
    state: Schema.String,
    reason: Schema.NullOr(Schema.String),
    evidence: Schema.NullOr(Schema.Unknown),
  }),
)

export const PreviewStartRequested = defineEvent(
  "sandbox.preview_start_requested",
  Schema.Struct({ ...preview, source: Schema.String, command_source: Schema.String }),
)

export const PreviewPending = defineEvent(
  "sandbox.preview_pending",
  Schema.Struct({
    ...preview,
    target_port: Schema.Int,
    approval: Schema.String,
    request_id: Schema.String,
    expires_at: Schema.String,
    timeout_minutes: Schema.Int,
    retry_of_request_id: optional(Schema.String),
  }),
)

const ready = Schema.Struct({
  ...preview,
  target_port: Schema.Int,
  pod_name: Schema.NullOr(Schema.String),
  session_id: Schema.String,
  preview_runner_session_id: Schema.NullOr(Schema.String),
  preview_url: Schema.NullOr(Schema.String),
  keepalive_url: Schema.NullOr(Schema.String),
  started_at: Schema.String,
})

export const PreviewReady = defineEvent("sandbox.preview_ready", ready)
/** The same on the coordinator's log. */
export const CoordinatorPreviewReady = defineEvent("coordinator.preview_ready", ready)

export const PreviewFailed = defineEvent(
  "sandbox.preview_failed",
  Schema.Struct({
    ...preview,
    source: Schema.String,
    reason: Schema.String,
    message: Schema.String,
    target_port: optional(Schema.Int),
    approval_request_id: optional(Schema.String),
    retry_available: optional(Schema.Boolean),
    expired_at: optional(Schema.String),
    preview_runner_session_id: optional(Schema.String),
  }),
)

export const PreviewSkipped = defineEvent(
  "sandbox.preview_skipped_not_applicable",
  Schema.Struct({
    ...preview,
    source: Schema.String,
    reason: Schema.String,
    message: optional(Schema.String),
    evidence: optional(Schema.Unknown),
  }),
)
