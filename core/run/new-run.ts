/** What a run is started with, and the events that open its log. */
import type { NewEvent } from "#core/event.ts"
import { newId } from "#core/ids.ts"
import { ApprovalPolicySelected, RunStarted } from "#core/run/events/run.ts"
import { isCoordinator, type Run } from "#core/run/run.ts"

export interface LaunchPolicy {
  readonly autoApproveTools: boolean
  readonly autopilot: boolean
  readonly source: "direct" | "backlog_pickup" | "retry"
  readonly settingsUpdatedAt?: string
  readonly inheritedFromRunId?: string
  /** The tools that `autoApproveTools` covers. */
  readonly safeTools: ReadonlyArray<string>
}

/** The tools that may run unasked where a run approves by itself. */
export const safeTools: ReadonlyArray<string> = ["web_fetch", "start_preview"]

export interface NewRun {
  /** Chosen by the caller where the id must be known before. */
  readonly runId?: string
  readonly projectId: string | null
  readonly parentRunId?: string
  readonly subtaskId?: number
  readonly submittedBy: string
  readonly agentName: string | null
  readonly task: string
  /** `hosted` where absent. */
  readonly modelSource?: string
  readonly modelId?: string | null
  readonly workflow?: { readonly id: string; readonly name: string | null; readonly reason: string | null }
  /** The working directory of the repository. A child has its parent's. */
  readonly repository?: string | null
  readonly originatingBranch?: string | null
  /** Who the agent is and how it works, where that is not the same for all. For a driven run. */
  readonly charter?: string | null
  /** Workers drive it: checkout, turn, review, merge. Otherwise whoever creates it does. */
  readonly driven?: boolean
  /** For runs without a parent; a child has its parent's. */
  readonly policy?: LaunchPolicy
  /** Sequence 1 and on; `run.started` where absent. */
  readonly firstEvents?: readonly [NewEvent, ...NewEvent[]]
}

export const firstEvents = (run: Run, spec: NewRun): readonly [NewEvent, ...NewEvent[]] => {
  const [first, ...more] = spec.firstEvents ?? [runStarted(run)]
  return spec.policy === undefined ? [first, ...more] : [first, ...more, policySelected(run, spec.policy)]
}

const runStarted = (run: Run): NewEvent =>
  RunStarted.of({
    runId: run.runId,
    agentName: run.agentName,
    kind: run.parentRunId !== null ? "child" : isCoordinator(run) ? "coordinator" : "run",
    ...(run.parentRunId === null ? {} : { parentRunId: run.parentRunId }),
    ...(run.subtaskId === null ? {} : { subtaskId: run.subtaskId }),
    ...(run.retriedFrom === null ? {} : { retriedFrom: run.retriedFrom }),
  })

const policySelected = (run: Run, policy: LaunchPolicy): NewEvent =>
  ApprovalPolicySelected.of({
    autoApproveTools: policy.autoApproveTools,
    autopilot: policy.autopilot,
    source: policy.source,
    capturedAt: run.createdAt,
    settingsUpdatedAt: policy.settingsUpdatedAt ?? null,
    inheritedFromRunId: policy.inheritedFromRunId ?? null,
    safeTools: policy.safeTools,
    policySnapshotId: newId(),
  })

/** The same run again, for the person who asked. */
export const retrySpec = (source: Run, by: string): NewRun => ({
  projectId: source.projectId,
  submittedBy: by,
  agentName: source.agentName,
  task: source.task,
  modelSource: source.modelSource,
  modelId: source.modelId,
  repository: source.repository,
  originatingBranch: source.originatingBranch,
  ...(source.workflowId === null
    ? {}
    : { workflow: { id: source.workflowId, name: source.workflowName, reason: source.workflowSelectionReason } }),
  policy: {
    autoApproveTools: source.autoApproveTools,
    autopilot: source.autopilot,
    source: "retry",
    inheritedFromRunId: source.runId,
    safeTools,
  },
})
