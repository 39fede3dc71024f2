/**
 * Events of a coordinator run: from the goal to the plan, and how the plan's subtasks go. The types and members that
 * the interface does not name are additions, marked "ours": they say why something was done.
 */
import { Schema } from "effect"
import { defineEvent } from "#core/event.ts"

const optional = Schema.optionalKey
const text = Schema.String
const nullableText = Schema.NullOr(Schema.String)
const ids = Schema.Array(Schema.Int)

export const CoordinatorStarted = defineEvent("coordinator.started", Schema.Struct({ goal: text }))

/** Another replica goes on from what was stored, or a person let a plan go on that was held up. */
export const CoordinatorRecovered = defineEvent(
  "coordinator.recovered",
  Schema.Struct({
    status: optional(text),
    reason: optional(text),
    workPlanId: optional(Schema.Int),
    directiveId: optional(Schema.Int),
    resetSubtaskIds: optional(ids),
    reObservedSubtaskIds: optional(ids),
    instruction: optional(text),
    /** Ours. */
    recoveredBy: optional(text),
  }),
)

export const SpecDraftRetrying = defineEvent(
  "coordinator.outcome_spec.draft_retrying",
  Schema.Struct({
    attempt: Schema.Int,
    maxAttempts: Schema.Int,
    reason: Schema.Literals(["model_refusal", "invalid_response"]),
  }),
)

export const OutcomeSpecPresented = defineEvent(
  "coordinator.outcome_spec",
  Schema.Struct({
    specId: Schema.Int,
    status: text,
    goal: text,
    desiredOutcome: text,
    scope: text,
    assumptions: text,
    clarifyingQuestions: optional(text),
  }),
)

export const OutcomeSpecConfirmed = defineEvent(
  "coordinator.outcome_spec.confirmed",
  Schema.Struct({ specId: Schema.Int, confirmedBy: text }),
)

/** Ours: a person wants another draft. */
export const OutcomeSpecRevised = defineEvent(
  "coordinator.outcome_spec.revised",
  Schema.Struct({ specId: Schema.Int, feedback: text, revisedBy: text }),
)

/** Ours: the decomposition was asked for again. */
export const DecompositionRetrying = defineEvent(
  "coordinator.decomposition_retrying",
  Schema.Struct({
    attempt: Schema.Int,
    maxAttempts: Schema.Int,
    reason: Schema.Literals(["model_refusal", "invalid_response"]),
  }),
)

/** Ours, after `run.error`: which step the world failed, and when it is tried again. */
export const StepRetrying = defineEvent(
  "coordinator.step_retrying",
  Schema.Struct({
    /** What was to be done: `Decompose`, `RunGate`… */
    step: text,
    reason: text,
    attempt: Schema.Int,
    maxAttempts: Schema.Int,
    retryInSeconds: Schema.Finite,
  }),
)

/** Ours: what of the model's decomposition was not taken as it was, and why. `item` counts from 1. */
export const DecompositionAdjusted = defineEvent(
  "coordinator.decomposition_adjusted",
  Schema.Struct({
    workPlanId: Schema.Int,
    adjustments: Schema.Array(Schema.Struct({ item: Schema.NullOr(Schema.Int), reason: text, detail: optional(text) })),
  }),
)

export const WorkPlanDrafted = defineEvent(
  "coordinator.work_plan",
  Schema.Struct({
    workPlanId: Schema.Int,
    status: text,
    workflowId: nullableText,
    subtasks: Schema.Array(
      Schema.Struct({
        id: Schema.Int,
        title: text,
        assignedAgent: text,
        selectedModelId: text,
        phase: text,
        isolation: text,
        dependsOn: ids,
      }),
    ),
    dependencies: Schema.Array(Schema.Struct({ subtaskId: Schema.Int, dependsOnSubtaskId: Schema.Int })),
  }),
)

export const WorkflowSelected = defineEvent(
  "coordinator.workflow_selected",
  Schema.Struct({
    selectedId: text,
    selectedName: text,
    rationale: text,
    wasAutoSelected: Schema.Boolean,
    overrideHint: nullableText,
    available: Schema.Array(Schema.Struct({ id: text, name: text })),
  }),
)

export const ChildStallDetected = defineEvent(
  "coordinator.child_stall_detected",
  Schema.Struct({
    childRunId: text,
    subtaskId: Schema.Int,
    staleSinceUtc: text,
    stallTimeoutMinutes: Schema.Finite,
    lastEventSequence: Schema.Int,
  }),
)

export const SubtaskRedispatched = defineEvent(
  "coordinator.subtask_redispatched",
  Schema.Struct({
    subtaskId: Schema.Int,
    priorChildRunId: text,
    attempt: Schema.Int,
    maxAttempts: Schema.Int,
    reason: Schema.Literal("stall_redispatch"),
    timestamp_utc: text,
  }),
)

const subtask = Schema.Struct({
  subtaskId: Schema.Int,
  childRunId: text,
  assignedAgent: text,
  selectedModelId: text,
  status: text,
  /** Ours: which try this is, and what led to it. */
  attempt: optional(Schema.Int),
  reason: optional(text),
})

export const SubtaskDispatched = defineEvent("subtask.dispatched", subtask)
export const SubtaskRunning = defineEvent("subtask.running", subtask)
export const SubtaskAssembleReady = defineEvent("subtask.assemble_ready", subtask)
export const SubtaskRaiFlagged = defineEvent("subtask.rai_flagged", subtask)
export const SubtaskCompleted = defineEvent("subtask.completed", subtask)
export const SubtaskFailed = defineEvent("subtask.failed", subtask)

export const ChildrenComplete = defineEvent(
  "coordinator.children_complete",
  Schema.Struct({
    workPlanId: Schema.Int,
    completed: Schema.Int,
    assembleReady: Schema.Int,
    failed: Schema.Int,
    total: Schema.Int,
  }),
)

/** A snapshot has `nodes` and `edges`, a delta `changed`. Their shapes belong to whoever draws them. */
export const TopologyChanged = defineEvent(
  "coordinator.topology",
  Schema.Struct({
    version: Schema.Literal(1),
    kind: Schema.Literals(["snapshot", "delta"]),
    coordinatorRunId: text,
    workPlanId: Schema.Int,
    workPlanStatus: text,
    seq: Schema.Int,
    nodes: optional(Schema.Array(Schema.Unknown)),
    edges: optional(Schema.Array(Schema.Struct({ from: text, to: text }))),
    changed: optional(Schema.Array(Schema.Unknown)),
    emittedAt: text,
  }),
)

/** The whole graph with its states; of several the one with the highest `seq` counts. */
export const CoordinatorGraph = defineEvent(
  "coordinator.graph",
  Schema.Struct({
    seq: Schema.Int,
    graph_id: text,
    variant: Schema.Literal("coordinator"),
    start_node_id: text,
    nodes: Schema.Array(Schema.Unknown),
    edges: Schema.Array(Schema.Unknown),
  }),
)

export const AutopilotAnswered = defineEvent(
  "coordinator.autopilot_answered",
  Schema.Struct({ runId: text, childRunId: optional(text), requestId: text, question: text, answer: text }),
)
