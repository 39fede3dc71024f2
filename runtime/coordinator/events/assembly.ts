/** Events from the integration to the end. */
import type { NewEvent } from "#core/event.ts"
import {
  AssemblyBlocked,
  AssemblyCompleted,
  AssemblyDeclined,
  AssemblyFailed,
  AssemblyGateCompleted,
  AssemblyMergeCompleted,
  AssemblyMergeFailed,
  AssemblyMergeStarted,
  AssemblyRaiCompleted,
  AssemblyRaiStarted,
  AssemblyReviewApproved,
  AssemblyReviewRequested,
  AssemblyScribeCompleted,
  AssemblyScribeStarted,
  AssemblyStarted,
  IntegrationConflictAutoResolved,
  RaiBlocked,
} from "#core/run/events/assembly.ts"
import { CoordinatorRecovered } from "#core/run/events/coordinator.ts"
import { MergeConflicted } from "#core/run/events/review.ts"
import { ScribeFailed } from "#core/run/events/run.ts"
import type { Told } from "#runtime/coordinator/events/told.ts"
import { planOf } from "#runtime/coordinator/evolve/parts.ts"
import {
  type CoordinatorState,
  integrationBranch,
  isEligible,
  isGate,
  lastAttempt,
  type Subtask,
} from "#runtime/coordinator/state.ts"

const integrated = (state: CoordinatorState) => ({
  workPlanId: planOf(state).workPlanId,
  integrationBranch: integrationBranch(state.run.runId),
})

/** Of the child whose work counts. */
const branchOf = (state: CoordinatorState, subtaskId: number): string => {
  const subtask = planOf(state).subtasks.find((each) => each.subtaskId === subtaskId)
  const runId = subtask === undefined ? undefined : lastAttempt(subtask)?.childRunId
  return runId === undefined ? "" : `svc/${runId}`
}

/** What a person can do about a subtask that cannot be assembled. */
const guidance = ({ status }: Subtask): string => {
  switch (status) {
    case "rai_flagged":
      return "The responsible-AI pass refused its work. Steer it with other instructions, or stop the run."
    case "blocked":
      return "It waits for a subtask that did not succeed. Recover that one first."
    default:
      return "It failed. Retry the run, or steer it with other instructions."
  }
}

const ineligible = ({ subtasks }: ReturnType<typeof planOf>) => {
  const left = subtasks.filter((subtask) => !isEligible(subtask))
  return {
    ineligibleSubtaskIds: left.map(({ subtaskId }) => subtaskId),
    ineligibleSubtasks: left.map((subtask) => ({
      id: subtask.subtaskId,
      title: subtask.title,
      status: subtask.status,
      agent: subtask.assignedAgent,
      recoveryGuidance: guidance(subtask),
    })),
  }
}

const gateEnd = (
  before: CoordinatorState,
  { verdict, summary }: { readonly verdict: string; readonly summary: string },
  flagged: boolean,
): ReadonlyArray<NewEvent> => {
  const { workPlanId, assembly } = planOf(before)
  const gateId = assembly.gateId ?? ""
  if (!isGate(assembly.stage)) return []
  return [
    assembly.stage === "rai"
      ? AssemblyRaiCompleted.of({ ...integrated(before), gateId, raiSafetyFlagged: flagged, verdict })
      : AssemblyGateCompleted.of({ workPlanId, gateId, gateKind: assembly.stage, verdict, summary }),
  ]
}

const scribeStarted = (state: CoordinatorState): NewEvent =>
  AssemblyScribeStarted.of({ workPlanId: planOf(state).workPlanId })

export const assemblyEvents = {
  AssemblyStarted: ({ after }: Told<"AssemblyStarted">) => [
    AssemblyStarted.of({ ...integrated(after), subtaskCount: planOf(after).subtasks.length }),
  ],

  AssemblyBlocked: ({ before, change: { reason, infrastructure } }: Told<"AssemblyBlocked">) => {
    const plan = planOf(before)
    return [
      AssemblyBlocked.of({
        workPlanId: plan.workPlanId,
        reason,
        ...(infrastructure === null
          ? ineligible(plan)
          : {
              detail: infrastructure.message,
              infrastructureReason: infrastructure.reason,
              retryable: true,
            }),
      }),
    ]
  },

  ConflictSettled: ({ before, change: { subtaskId, files } }: Told<"ConflictSettled">) => [
    IntegrationConflictAutoResolved.of({
      workPlanId: planOf(before).workPlanId,
      conflictingBranch: branchOf(before, subtaskId),
      conflictingFiles: files,
      strategy: "accept_child",
    }),
  ],

  Integrated: ({ after }: Told<"Integrated">) => (planOf(after).assembly.hasChanges ? [] : [scribeStarted(after)]),

  IntegrationConflicted: ({ before, change: { subtaskId, files, final } }: Told<"IntegrationConflicted">) => {
    return [
      MergeConflicted.of({
        ...integrated(before),
        reason: final ? "overlapping_changes_again" : "overlapping_changes",
        conflictingBranch: branchOf(before, subtaskId),
        conflictingFiles: files,
      }),
    ]
  },

  GateStarted: ({ after, change: { gateId } }: Told<"GateStarted">) => {
    const { assembly } = planOf(after)
    if (assembly.stage === "rai") return [AssemblyRaiStarted.of({ ...integrated(after), gateId })]
    if (assembly.stage !== "build-test" && assembly.stage !== "rubberduck") return []
    return [
      AssemblyReviewRequested.of({
        ...integrated(after),
        treeHash: assembly.treeHash ?? "",
        gateId,
        gateKind: assembly.stage,
        hasChanges: assembly.hasChanges,
      }),
    ]
  },

  GatePassed: ({ before, change }: Told<"GatePassed">) => gateEnd(before, change, false),
  GateRejected: ({ before, change }: Told<"GateRejected">) => gateEnd(before, change, true),

  RaiBlocked: ({ before, change: { reason } }: Told<"RaiBlocked">) => [
    ...gateEnd(before, { verdict: "red", summary: reason }, true),
    RaiBlocked.of({ ...integrated(before), reason, requiresHumanOverride: true }),
  ],

  ReviewRequested: ({ after, change: { gateId } }: Told<"ReviewRequested">) => {
    const { treeHash, hasChanges, included, reason } = planOf(after).assembly
    return [
      AssemblyReviewRequested.of({
        ...integrated(after),
        treeHash: treeHash ?? "",
        gateId,
        gateKind: "human-review",
        hasChanges,
        includedSubtaskIds: included,
        ...(reason === null ? {} : { reason }),
      }),
    ]
  },

  ReviewApproved: ({ before, change: { by } }: Told<"ReviewApproved">) => {
    const { workPlanId, status, assembly } = planOf(before)
    const approved = { workPlanId, reviewer: by, treeHash: assembly.treeHash ?? "" }
    return status === "rai_blocked"
      ? [AssemblyReviewApproved.of({ ...approved, overrides: "rai" })]
      : [AssemblyReviewApproved.of(approved), AssemblyMergeStarted.of(integrated(before))]
  },

  ReviewDeclined: ({ before, change: { by, reason } }: Told<"ReviewDeclined">) => [
    AssemblyDeclined.of({ workPlanId: planOf(before).workPlanId, reason, reviewer: by }),
  ],

  Merged: ({ after, change: { commit } }: Told<"Merged">) => [
    AssemblyMergeCompleted.of({ workPlanId: planOf(after).workPlanId, commitHash: commit }),
    scribeStarted(after),
  ],

  MergeBlocked: ({ before, change: { reason } }: Told<"MergeBlocked">) => [
    AssemblyMergeFailed.of({ workPlanId: planOf(before).workPlanId, reason, conflictingFiles: [] }),
  ],

  MergeConflicted: ({ before, change: { reason, files } }: Told<"MergeConflicted">) => {
    const { workPlanId } = planOf(before)
    return [
      MergeConflicted.of({ ...integrated(before), reason, conflictingFiles: files }),
      AssemblyMergeFailed.of({ workPlanId, reason, conflictingFiles: files }),
    ]
  },

  Scribed: ({ before, change: { failure } }: Told<"Scribed">) => {
    const { workPlanId } = planOf(before)
    return [
      ...(failure === null ? [] : [ScribeFailed.of({ workPlanId, reason: failure })]),
      AssemblyScribeCompleted.of({ workPlanId }),
    ]
  },

  Completed: ({ after }: Told<"Completed">) => [
    AssemblyCompleted.of({ ...integrated(after), commitHash: planOf(after).assembly.mergedCommit }),
  ],

  Failed: ({ before, change: { reason, message } }: Told<"Failed">) =>
    before.plan === null
      ? []
      : [
          AssemblyFailed.of({
            workPlanId: before.plan.workPlanId,
            reason,
            phase: before.plan.assembly.stage ?? before.plan.status,
            detail: message,
          }),
        ],

  Stopped: (): ReadonlyArray<NewEvent> => [],

  Rearmed: ({ before, change: { by, reason } }: Told<"Rearmed">) => {
    const plan = planOf(before)
    return [
      CoordinatorRecovered.of({
        status: plan.status,
        reason,
        workPlanId: plan.workPlanId,
        resetSubtaskIds: plan.subtasks.filter((subtask) => !isEligible(subtask)).map(({ subtaskId }) => subtaskId),
        recoveredBy: by,
      }),
    ]
  },
}
