/** States for tests: a coordinator run with as much of it filled in as a test says. */
import type { RunCommand } from "#core/run/command.ts"
import { defaultLimits } from "#runtime/coordinator/limits.ts"
import {
  type ChildView,
  type CoordinatorState,
  type Dependency,
  noAssembly,
  type OutcomeSpec,
  type Subtask,
  type WorkPlan,
} from "#runtime/coordinator/state.ts"

export const runId = "6f2c7a52-3a52-4a0c-9c1f-3f3f0c5b1a01"

export const aSpec: OutcomeSpec = {
  specId: 1,
  status: "confirmed",
  desiredOutcome: "it works",
  scope: "",
  assumptions: "",
  clarifyingQuestions: null,
  confirmedBy: "ada",
  allowTaskPromotion: false,
  feedback: [],
}

export const aSubtask = (subtaskId: number, more: Partial<Subtask> = {}): Subtask => ({
  subtaskId,
  ordinal: subtaskId,
  title: `part ${subtaskId}`,
  scope: "",
  role: "writer",
  assignedAgent: "Vera",
  selectedModelId: "gpt-5",
  charter: null,
  complexity: "low",
  phase: "execution",
  isolation: "worktree",
  status: "pending",
  attempts: [],
  nextReason: "first",
  recoveryAttempts: 0,
  lockedOutAgents: [],
  feedback: [],
  onTop: false,
  ...more,
})

/** With one attempt, which is live where the status says that its child works. */
export const begun = (subtaskId: number, status: Subtask["status"], more: Partial<Subtask> = {}): Subtask =>
  aSubtask(subtaskId, {
    status,
    attempts: [
      {
        attempt: 1,
        childRunId: `child-${subtaskId}`,
        reason: "first",
        end:
          status === "assemble_ready" || status === "completed" || status === "rai_flagged" || status === "failed"
            ? status
            : null,
        signalled: false,
      },
    ],
    ...more,
  })

export const aChild = (runId: string, more: Partial<ChildView> = {}): ChildView => ({
  runId,
  status: "in_progress",
  result: null,
  retryable: false,
  lastEventAt: 0,
  lastSequence: 1,
  waiting: false,
  questions: [],
  branch: `svc/${runId}`,
  commit: `commit-of-${runId}`,
  treeHash: `tree-of-${runId}`,
  touchedFiles: [`src/${runId}.ts`],
  stepCount: 1,
  resumable: true,
  executionPodName: null,
  ...more,
})

export const aPlan = (
  subtasks: ReadonlyArray<Subtask>,
  more: Partial<WorkPlan> = {},
  edges: ReadonlyArray<readonly [subtaskId: number, dependsOn: number]> = [],
): WorkPlan => ({
  workPlanId: 2,
  outcomeSpecId: 1,
  status: "dispatching",
  statusReason: null,
  workflowId: null,
  gates: ["rai", "build-test"],
  subtasks,
  dependencies: edges.map(([subtaskId, dependsOnSubtaskId]): Dependency => ({ subtaskId, dependsOnSubtaskId })),
  steeringIterations: 0,
  humanReviewRoundTrips: 0,
  ...more,
  assembly: { ...noAssembly, ...more.assembly },
})

export const aState = (more: Partial<CoordinatorState> = {}): CoordinatorState => ({
  version: 1,
  run: {
    runId,
    projectId: null,
    submittedBy: "ada",
    goal: "make it work",
    status: "in_progress",
    result: null,
    autopilot: false,
    modelSource: "hosted",
    modelId: null,
    repository: "/repository",
    originatingBranch: "main",
  },
  startMode: "direct",
  limits: defaultLimits,
  roster: [
    { agent: "Vera", role: "writer", modelId: "gpt-5" },
    { agent: "Otto", role: "writer", modelId: "gpt-5" },
    { agent: "Ines", role: "tester", modelId: "gpt-5" },
  ],
  spec: null,
  plan: null,
  directives: [],
  children: {},
  ...more,
})

/** With a plan, and a child for every attempt of it. */
export const planned = (plan: WorkPlan, more: Partial<CoordinatorState> = {}): CoordinatorState =>
  aState({
    spec: aSpec,
    plan,
    ...more,
    children: {
      ...Object.fromEntries(
        plan.subtasks.flatMap((subtask) =>
          subtask.attempts.map(({ childRunId, end }) => [
            childRunId,
            aChild(childRunId, end === null ? {} : { status: end === "assemble_ready" ? "assemble_ready" : "failed" }),
          ]),
        ),
      ),
      ...more.children,
    },
  })

/** What the run of a child is told when its work is done. */
export const childIsReady: RunCommand = {
  _tag: "AssembleReady",
  treeHash: "t",
  worktreeBranch: "b",
  diff: "",
  hasChanges: true,
  raiSafetyFlagged: false,
}
