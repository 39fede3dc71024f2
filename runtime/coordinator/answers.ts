/** Coordinator runs as the interface writes them: in camelCase; members that are not known are left out. */
import { Schema } from "effect"
import { RunStatus } from "#core/run/status.ts"
import {
  type CoordinatorState,
  childOf,
  type Directive,
  endedPlans,
  lastAttempt,
  type Subtask,
} from "#runtime/coordinator/state.ts"

const text = Schema.String
const optionalText = Schema.optionalKey(text)

export const OutcomeSpecAnswer = Schema.Struct({
  specId: Schema.Int,
  goal: text,
  desiredOutcome: text,
  scope: text,
  assumptions: text,
  clarifyingQuestions: optionalText,
  status: text,
  confirmedBy: optionalText,
  allowTaskPromotion: Schema.Boolean,
})

/** Undefined before the first draft. */
export const outcomeSpecAnswer = ({ spec, run }: CoordinatorState): typeof OutcomeSpecAnswer.Type | undefined => {
  if (spec === null) return undefined
  const { specId, desiredOutcome, scope, assumptions, clarifyingQuestions, status, confirmedBy } = spec
  return {
    specId,
    goal: run.goal,
    desiredOutcome,
    scope,
    assumptions,
    ...(clarifyingQuestions === null ? {} : { clarifyingQuestions }),
    status,
    ...(confirmedBy === null ? {} : { confirmedBy }),
    allowTaskPromotion: spec.allowTaskPromotion,
  }
}

export const WorkPlanAnswer = Schema.Struct({
  workPlanId: Schema.Int,
  coordinatorRunId: text,
  outcomeSpecId: Schema.Int,
  status: text,
  statusReason: optionalText,
  isolationSummary: optionalText,
  workflowId: Schema.NullOr(text),
  assemblyStage: Schema.NullOr(text),
  /** The stage at which the plan ended. */
  assemblyTerminalStage: Schema.NullOr(text),
  subtasks: Schema.Array(
    Schema.Struct({
      subtaskId: Schema.Int,
      title: text,
      scope: text,
      assignedAgent: text,
      selectedModelId: text,
      phase: text,
      isolation: text,
      status: text,
      childRunId: optionalText,
      charter: optionalText,
    }),
  ),
  dependencies: Schema.Array(Schema.Struct({ subtaskId: Schema.Int, dependsOnSubtaskId: Schema.Int })),
})

/** Undefined before the plan is drafted. */
export const workPlanAnswer = ({ plan, run }: CoordinatorState): typeof WorkPlanAnswer.Type | undefined => {
  if (plan === null) return undefined
  const { workPlanId, outcomeSpecId, status, statusReason, workflowId, assembly, subtasks, dependencies } = plan
  return {
    workPlanId,
    coordinatorRunId: run.runId,
    outcomeSpecId,
    status,
    ...(statusReason === null ? {} : { statusReason }),
    isolationSummary: isolationSummary(subtasks),
    workflowId,
    assemblyStage: assembly.stage,
    assemblyTerminalStage: endedPlans.has(status) ? assembly.stage : null,
    subtasks: subtasks.map((subtask) => {
      const childRunId = childOf(subtask)
      const { subtaskId, title, scope, assignedAgent, selectedModelId, phase, isolation } = subtask
      return {
        ...{ subtaskId, title, scope, assignedAgent, selectedModelId, phase, isolation, status: subtask.status },
        ...(childRunId === null ? {} : { childRunId }),
        ...(subtask.charter === null ? {} : { charter: subtask.charter }),
      }
    }),
    dependencies,
  }
}

/** `2 worktree, 1 shared`. */
const isolationSummary = (subtasks: ReadonlyArray<Subtask>): string =>
  (["worktree", "shared"] as const)
    .map((kind) => [subtasks.filter(({ isolation }) => isolation === kind).length, kind] as const)
    .filter(([count]) => count > 0)
    .map(([count, kind]) => `${count} ${kind}`)
    .join(", ")

export const ChildAnswer = Schema.Struct({
  subtaskId: Schema.Int,
  childRunId: text,
  subtaskStatus: text,
  assignedAgent: text,
  selectedModelId: text,
  childRunStatus: Schema.optionalKey(RunStatus),
  worktreeBranch: optionalText,
  treeHash: optionalText,
  stepCount: Schema.Int,
})

/** The child that counts for each subtask, or was the last of it; subtasks that have had none are left out. */
export const childrenAnswer = ({ plan, children }: CoordinatorState): ReadonlyArray<typeof ChildAnswer.Type> =>
  (plan?.subtasks ?? []).flatMap((subtask) => {
    const childRunId = lastAttempt(subtask)?.childRunId
    if (childRunId === undefined) return []
    const child = children[childRunId]
    return [
      {
        subtaskId: subtask.subtaskId,
        childRunId,
        subtaskStatus: subtask.status,
        assignedAgent: subtask.assignedAgent,
        selectedModelId: subtask.selectedModelId,
        ...(child === undefined ? {} : { childRunStatus: child.status }),
        ...(child?.branch == null ? {} : { worktreeBranch: child.branch }),
        ...(child?.treeHash == null ? {} : { treeHash: child.treeHash }),
        stepCount: child?.stepCount ?? 0,
      },
    ]
  })

export const DirectiveAnswer = Schema.Struct({
  id: Schema.Int,
  coordinatorRunId: text,
  targetChildRunId: optionalText,
  kind: text,
  instruction: text,
  status: text,
  createdBy: text,
  createdAt: text,
  relayedAt: optionalText,
})

export const directiveAnswer = ({ directiveId, signal, status, ...rest }: Directive): typeof DirectiveAnswer.Type => ({
  id: directiveId,
  coordinatorRunId: signal.coordinatorRunId,
  ...(signal.targetScope.childRunId === undefined ? {} : { targetChildRunId: signal.targetScope.childRunId }),
  kind: signal.verb,
  instruction: signal.feedback,
  status,
  createdBy: signal.createdBy,
  createdAt: rest.createdAt,
  ...(rest.relayedAt === null ? {} : { relayedAt: rest.relayedAt }),
})
