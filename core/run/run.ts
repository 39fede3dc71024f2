/** A run as it is stored, and what of it the rules look at. */
import type { RunStatus } from "#core/run/status.ts"

/** The name of the agent that plans and assembles; its run has children and no parent. */
export const coordinatorAgent = "Coordinator"

export interface Run {
  readonly runId: string
  /** The first run of its chain of retries; its own id for a first run. */
  readonly workflowRunId: string
  readonly projectId: string | null
  readonly parentRunId: string | null
  readonly subtaskId: number | null
  readonly submittedBy: string
  readonly agentName: string | null
  readonly task: string
  readonly status: RunStatus
  readonly modelSource: string
  readonly modelId: string | null
  readonly effectiveModelProvider: unknown
  readonly workflowId: string | null
  readonly workflowName: string | null
  readonly workflowSelectionReason: string | null
  readonly createdAt: string
  readonly startedAt: string
  readonly endedAt: string | null
  readonly archivedAt: string | null
  readonly result: string | null
  readonly stepCount: number
  readonly revisions: number
  /** The working directory of the repository; null for a run that an older version made. */
  readonly repository: string | null
  readonly originatingBranch: string | null
  readonly worktreePath: string | null
  readonly worktreeBranch: string | null
  readonly treeHash: string | null
  readonly diff: string | null
  readonly reviewReadyAt: string | null
  readonly reviewedBy: string | null
  readonly mergedCommitHash: string | null
  readonly mergeConflicts: ReadonlyArray<string> | null
  readonly outcomeAchieved: boolean | null
  readonly outcomeReason: string | null
  readonly sandbox: unknown
  readonly coordinatorStatus: string | null
  readonly coordinatorStatusReason: string | null
  readonly autoApproveTools: boolean
  readonly autopilot: boolean
  readonly retriedFrom: string | null
  readonly retryDepth: number
  readonly fence: number
}

/** What `decide` needs to know of a run. */
export type RunState = Pick<
  Run,
  | "runId"
  | "status"
  | "parentRunId"
  | "subtaskId"
  | "treeHash"
  | "worktreeBranch"
  | "stepCount"
  | "revisions"
  | "result"
  | "reviewedBy"
  | "endedAt"
>

export const isCoordinator = (run: Pick<Run, "agentName" | "parentRunId">): boolean =>
  run.agentName === coordinatorAgent && run.parentRunId === null
