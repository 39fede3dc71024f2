// Written by svc for the question steering.decide. Changes are lost: svc plugin build writes it again.

/** A steering signal arrived for a coordinator run. */
export type Ask = SteeringDecideAsk
/** Null, or nothing at all: no opinion. The next policy is asked, and in the end the service itself. */
export type Answer = SteeringAnswer | null | undefined

export interface SteeringDecideAsk {
  readonly signal: SteeringSignal
  readonly plan: PlanView
  readonly budgets: SteeringBudgets
}

export interface SteeringSignal {
  readonly coordinatorRunId: string
  readonly source: "human-review" | "rai" | "rubberduck" | "build-test" | "agent" | "coordinator" | "step"
  readonly targetScope: SteeringSignalTargetScope
  /** Reasoning for whoever acts on it; never read for routing. */
  readonly feedback: string
  readonly severity: "advisory" | "request-changes" | "blocking"
  readonly verb: "stop" | "send" | "redirect" | "amend" | "dispatch-fresh"
  readonly treeHash: string | null
  /** Files that the reviewer named in so many words. */
  readonly targetFiles: ReadonlyArray<string> | null
  readonly createdBy: string
}

export interface SteeringSignalTargetScope {
  readonly kind: "run" | "work-plan" | "subtask"
  readonly subtaskIds?: ReadonlyArray<number>
  readonly childRunId?: string
}

export interface PlanView {
  readonly workPlanId: number
  readonly status: string
  /** The run waits for a person's review. */
  readonly reviewGateArmed: boolean
  readonly subtasks: ReadonlyArray<SubtaskView>
  readonly dependencies: ReadonlyArray<PlanViewDependency>
}

export interface SubtaskView {
  readonly subtaskId: number
  readonly status: "pending" | "dispatched" | "running" | "pending_capacity" | "assemble_ready" | "completed" | "rai_flagged" | "failed" | "blocked"
  readonly assignedAgent: string
  readonly childRunId: string | null
  /** Its session and checkout are still there to be continued. */
  readonly resumable: boolean
  /** There is work or feedback that a fresh child would start from. */
  readonly hasContext: boolean
  /** Files of its commits. */
  readonly touchedFiles: ReadonlyArray<string>
  /** Who may take it, best first; the assigned agent is one of them. */
  readonly eligibleAgents: ReadonlyArray<string>
  readonly lockedOutAgents: ReadonlyArray<string>
  readonly recoveryAttempts: number
}

export interface PlanViewDependency {
  readonly subtaskId: number
  readonly dependsOnSubtaskId: number
}

export interface SteeringBudgets {
  readonly recoveryAttemptsPerSubtask: number
  readonly steeringIterationsPerPlan: number
  readonly steeringIterationsUsed: number
}

export interface SteeringAnswer {
  readonly decision: "in_place_steer" | "dispatch_fresh" | "proceed" | "advisory"
  /** A short code, such as single_eligible_agent. */
  readonly rationale: string
  /** The subtasks that are steered or dispatched. */
  readonly subtaskIds: ReadonlyArray<number>
  readonly attempt?: number
  readonly implicatedSubtaskIds?: ReadonlyArray<number>
  readonly dependentSubtaskIds?: ReadonlyArray<number>
  readonly assignments?: ReadonlyArray<Assignment>
  readonly resetBudgets?: boolean
  readonly scopeFallback?: ScopeFallback | null
  readonly escalation?: "human_review"
  readonly disposition?: "rejection"
}

export interface Assignment {
  readonly subtaskId: number
  readonly assignedAgent: string
  readonly lockedOutAgents: ReadonlyArray<string>
}

export interface ScopeFallback {
  readonly reason: "no_target_files_field" | "target_files_matched_nothing"
  readonly namedFiles: ReadonlyArray<string>
  readonly touchedFiles: ReadonlyArray<string>
  readonly contributorIds: ReadonlyArray<number>
}

declare global {
  /** A setting of the plugin, as text, where the manifest asks for it and an operator granted it. */
  function config(name: string): string | undefined
  /** Lines in the log of the service: at most 32 of one answer. */
  const console: Record<"debug" | "log" | "info" | "warn" | "error", (...values: ReadonlyArray<unknown>) => void>
}
