/** Small steps that several changes are made of. */
import type {
  Assembly,
  AttemptEnd,
  CoordinatorRun,
  CoordinatorState,
  Directive,
  Subtask,
  WorkPlan,
} from "#runtime/coordinator/state.ts"
import { lastAttempt, noAssembly } from "#runtime/coordinator/state.ts"

export const planOf = ({ plan, run }: CoordinatorState): WorkPlan => {
  if (plan === null) throw new Error(`the coordinator run ${run.runId} has no plan yet`)
  return plan
}

export const subtaskOf = (plan: WorkPlan, subtaskId: number): Subtask => {
  const subtask = plan.subtasks.find((each) => each.subtaskId === subtaskId)
  if (subtask === undefined) throw new Error(`the plan ${plan.workPlanId} has no subtask ${subtaskId}`)
  return subtask
}

export const withRun = (state: CoordinatorState, run: Partial<CoordinatorRun>): CoordinatorState => ({
  ...state,
  run: { ...state.run, ...run },
})

export const withPlan = (state: CoordinatorState, plan: Partial<WorkPlan>): CoordinatorState => ({
  ...state,
  plan: { ...planOf(state), ...plan },
})

export const withAssembly = (state: CoordinatorState, assembly: Partial<Assembly>): CoordinatorState =>
  withPlan(state, { assembly: { ...planOf(state).assembly, ...assembly } })

/** Subtasks that are not named stay the same values. */
export const withSubtasks = (
  state: CoordinatorState,
  subtaskIds: ReadonlyArray<number>,
  change: (subtask: Subtask) => Subtask,
): CoordinatorState =>
  withPlan(state, {
    subtasks: planOf(state).subtasks.map((each) => (subtaskIds.includes(each.subtaskId) ? change(each) : each)),
  })

export const withDirective = (
  state: CoordinatorState,
  directiveId: number,
  change: (directive: Directive) => Directive,
): CoordinatorState => ({
  ...state,
  directives: state.directives.map((each) => (each.directiveId === directiveId ? change(each) : each)),
})

/** The live attempt, if there is one, with its end. */
export const ended = (subtask: Subtask, end: AttemptEnd): Subtask => ({
  ...subtask,
  attempts: subtask.attempts.map((each) => (each.end === null ? { ...each, end } : each)),
})

/** Waiting for a fresh child. */
export const resetTo = (subtask: Subtask, nextReason: Subtask["nextReason"], end: AttemptEnd): Subtask => ({
  ...ended(subtask, end),
  status: "pending",
  nextReason,
})

export const reopened = (subtask: Subtask): Subtask => ({
  ...subtask,
  status: "running",
  attempts: subtask.attempts.map((each) =>
    each === lastAttempt(subtask) ? { ...each, end: null, signalled: false } : each,
  ),
})

/** Back to work: whatever was assembled is no longer what will be merged. */
export const dispatchingAgain = (state: CoordinatorState): CoordinatorState =>
  withPlan(state, {
    status: "dispatching",
    statusReason: null,
    assembly: { ...noAssembly, round: planOf(state).assembly.round },
  })
