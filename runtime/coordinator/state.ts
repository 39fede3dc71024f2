/**
 * All that is known of a coordinator run, as one plain value: what its rows say, and how its children stand. `next`
 * looks at nothing else, and a change makes a new one (`evolve`).
 */
import type { RunStatus } from "#core/run/status.ts"
import type { SteeringAnswer, SteeringSignal, SubtaskView } from "#policies/steering/model.ts"
import type { Limits } from "#runtime/coordinator/limits.ts"

export const startModes = ["direct", "defineOutcome"] as const
export type StartMode = (typeof startModes)[number]

export const planStatuses = [
  /** Drafted, not dispatched yet. */
  "planned",
  "dispatching",
  "awaiting_assembly",
  "assembling",
  /** A signal arrived and is being decided. */
  "assembly_steering",
  "in_review",
  "complete",
  /** These three wait for a person. */
  "assembly_blocked",
  "rai_blocked",
  "needs_resolution",
  "assembly_failed",
  "assembly_declined",
  /** The run was ended from outside: cancelled or stopped. */
  "cancelled",
] as const
export type PlanStatus = (typeof planStatuses)[number]

export const endedPlans: ReadonlySet<PlanStatus> = new Set([
  "complete",
  "assembly_failed",
  "assembly_declined",
  "cancelled",
])

/** Gates before the person's review, in the order in which they are asked. */
export const gates = ["rai", "build-test", "rubberduck"] as const
export type Gate = (typeof gates)[number]
export type Stage = "integrate" | Gate | "review" | "merge" | "scribe" | "done"

export type SubtaskStatus = SubtaskView["status"]

export interface CoordinatorRun {
  readonly runId: string
  readonly projectId: string | null
  readonly submittedBy: string
  readonly goal: string
  readonly status: RunStatus
  readonly result: string | null
  readonly autopilot: boolean
  readonly modelSource: string
  readonly modelId: string | null
  readonly repository: string | null
  readonly originatingBranch: string | null
}

export interface RosterMember {
  readonly agent: string
  /** Id of the role in the catalog. */
  readonly role: string
  readonly modelId: string
}

export type SpecStatus = "drafting" | "awaiting_confirmation" | "confirmed" | "declined"

export interface OutcomeSpec {
  readonly specId: number
  readonly status: SpecStatus
  readonly desiredOutcome: string
  readonly scope: string
  readonly assumptions: string
  readonly clarifyingQuestions: string | null
  readonly confirmedBy: string | null
  readonly allowTaskPromotion: boolean
  /** What people wanted changed, oldest first. */
  readonly feedback: ReadonlyArray<string>
}

/** How a try at a subtask ended. */
export type AttemptEnd =
  | "assemble_ready"
  | "completed"
  | "rai_flagged"
  | "failed"
  | "stalled"
  | "redirected"
  | "stopped"

export type AttemptReason = "first" | "stall_redispatch" | "steering" | "rearmed"

export interface Attempt {
  readonly attempt: number
  readonly childRunId: string
  readonly reason: AttemptReason
  /** Null: the child works. */
  readonly end: AttemptEnd | null
  /** A failure of this try has been brought to steering. */
  readonly signalled: boolean
}

export interface Subtask {
  readonly subtaskId: number
  /** From 1, in the order of the plan. */
  readonly ordinal: number
  readonly title: string
  readonly scope: string
  readonly role: string
  readonly assignedAgent: string
  readonly selectedModelId: string
  /** Of a role that the catalog does not have. */
  readonly charter: string | null
  readonly complexity: "low" | "medium" | "high"
  readonly phase: "none" | "planning" | "execution" | "validation"
  readonly isolation: "worktree" | "shared"
  readonly status: SubtaskStatus
  readonly attempts: ReadonlyArray<Attempt>
  /** Why the next attempt is made. */
  readonly nextReason: AttemptReason
  readonly recoveryAttempts: number
  readonly lockedOutAgents: ReadonlyArray<string>
  /** What gates and people said of the work, for the next child. */
  readonly feedback: ReadonlyArray<string>
  /** It conflicted: it is done again on top of everything else. */
  readonly onTop: boolean
}

export interface Dependency {
  readonly subtaskId: number
  readonly dependsOnSubtaskId: number
}

export interface Assembly {
  readonly stage: Stage | null
  /** Grows with every integration, so that no two gates have one id. */
  readonly round: number
  /** The gate that has been announced. */
  readonly gateId: string | null
  readonly commit: string | null
  readonly treeHash: string | null
  readonly hasChanges: boolean
  readonly included: ReadonlyArray<number>
  /** What a person approved: nothing else is merged. */
  readonly approvedTreeHash: string | null
  readonly approvedBy: string | null
  readonly mergedCommit: string | null
  /** Why a person is asked: the reason of the escalation, where there is one. */
  readonly reason: string | null
  /** Where the plan stands again when steering comes to nothing. */
  readonly returnTo: PlanStatus | null
}

export interface WorkPlan {
  readonly workPlanId: number
  readonly outcomeSpecId: number
  readonly status: PlanStatus
  readonly statusReason: string | null
  readonly workflowId: string | null
  readonly gates: ReadonlyArray<Gate>
  readonly subtasks: ReadonlyArray<Subtask>
  readonly dependencies: ReadonlyArray<Dependency>
  readonly steeringIterations: number
  readonly humanReviewRoundTrips: number
  readonly assembly: Assembly
}

export type DirectiveStatus = "pending" | "queued" | "relayed" | "applied" | "deferred"

export interface Directive {
  readonly directiveId: number
  readonly signal: SteeringSignal
  readonly status: DirectiveStatus
  readonly decision: SteeringAnswer["decision"] | null
  readonly rationale: string | null
  readonly attempt: number
  /** The subtasks that it is carried out on. */
  readonly targets: ReadonlyArray<number>
  /** Targets whose child was given the correction: the markers of its revision. */
  readonly revised: ReadonlyArray<number>
  readonly createdAt: string
  readonly relayedAt: string | null
}

/** What a child asked, and nobody has answered yet. */
export interface OpenQuestion {
  readonly requestId: string
  readonly question: string
}

/** A child's run as it stands: seen, never decided here. */
export interface ChildView {
  readonly runId: string
  readonly status: RunStatus
  readonly result: string | null
  /** Where it failed: may another try go better? */
  readonly retryable: boolean
  /** Milliseconds since 1970, and the sequence, of its last event. */
  readonly lastEventAt: number
  readonly lastSequence: number
  /** It waits for a person's answer, or for a place to work in. */
  readonly waiting: boolean
  /** The oldest first. */
  readonly questions: ReadonlyArray<OpenQuestion>
  readonly branch: string | null
  readonly commit: string | null
  readonly treeHash: string | null
  readonly touchedFiles: ReadonlyArray<string>
  readonly stepCount: number
  /** Its session and its checkout are there to be continued. */
  readonly resumable: boolean
  readonly executionPodName: string | null
}

export interface CoordinatorState {
  /** Grows with every change; a change that was decided on another version is refused. */
  readonly version: number
  readonly run: CoordinatorRun
  readonly startMode: StartMode
  readonly limits: Limits
  readonly roster: ReadonlyArray<RosterMember>
  readonly spec: OutcomeSpec | null
  readonly plan: WorkPlan | null
  readonly directives: ReadonlyArray<Directive>
  readonly children: Readonly<Record<string, ChildView>>
}

/** The try that is under way, or was the last. */
export const lastAttempt = (subtask: Subtask): Attempt | undefined => subtask.attempts.at(-1)

export const liveAttempt = (subtask: Subtask): Attempt | undefined => {
  const last = lastAttempt(subtask)
  return last?.end === null ? last : undefined
}

/** The child whose work counts for the subtask; none while it waits for a new one. */
export const childOf = (subtask: Subtask): string | null =>
  subtask.status === "pending" || subtask.status === "pending_capacity" || subtask.status === "blocked"
    ? null
    : (lastAttempt(subtask)?.childRunId ?? null)

/** Ready for assembly: what dependents wait for. */
export const isEligible = ({ status }: Pick<Subtask, "status">): boolean =>
  status === "assemble_ready" || status === "completed"

export const integrationBranch = (runId: string): string => `svc/integration/${runId}`

export const noAssembly: Assembly = {
  stage: null,
  round: 0,
  gateId: null,
  commit: null,
  treeHash: null,
  hasChanges: false,
  included: [],
  approvedTreeHash: null,
  approvedBy: null,
  mergedCommit: null,
  reason: null,
  returnTo: null,
}

/** The stage after this one. */
export const stageAfter = (stage: Stage, asked: ReadonlyArray<Gate>): Stage => {
  const path: ReadonlyArray<Stage> = [
    "integrate",
    ...gates.filter((gate) => asked.includes(gate)),
    "review",
    "merge",
    "scribe",
    "done",
  ]
  return path[path.indexOf(stage) + 1] ?? "done"
}

export const isGate = (stage: Stage | null): stage is Gate => gates.some((gate) => gate === stage)
