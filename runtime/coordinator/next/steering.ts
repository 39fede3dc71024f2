/** What open directives ask for. */
import { type Action, write } from "#runtime/coordinator/action.ts"
import {
  type CoordinatorState,
  type Directive,
  isEligible,
  lastAttempt,
  type WorkPlan,
} from "#runtime/coordinator/state.ts"

/** A directive is open until nothing of it is left to be started. What a person sends back is relayed before it is decided. */
export const isOpen = ({ status, decision, targets, revised }: Directive): boolean => {
  if (status !== "relayed") return status === "pending" || status === "queued"
  return decision === null || (decision === "in_place_steer" && targets.some((id) => !revised.includes(id)))
}

/** The oldest open directive alone: a later one is decided on what the earlier one left. */
export const steering = (state: CoordinatorState, plan: WorkPlan): ReadonlyArray<Action> => {
  const directive = state.directives.find(isOpen)
  if (directive === undefined) return []
  const { directiveId } = directive
  if (directive.decision === null) return [{ _tag: "Decide", directiveId }]
  const left = plan.subtasks.filter(
    ({ subtaskId }) => directive.targets.includes(subtaskId) && !directive.revised.includes(subtaskId),
  )
  const steered = left.flatMap((subtask): ReadonlyArray<Action> => {
    const childRunId = lastAttempt(subtask)?.childRunId
    if (childRunId === undefined || state.children[childRunId]?.resumable !== true) return []
    const { subtaskId } = subtask
    return [{ _tag: "SteerChild", directiveId, subtaskId, childRunId, instruction: directive.signal.feedback }]
  })
  // a child was lost since it was decided: what is possible now is decided anew
  return steered.length === left.length ? steered : [{ _tag: "Decide", directiveId }]
}

/** Directives whose every target is ready for assembly again, and, where it was corrected in place, has its marker. */
export const heeded = ({ directives }: CoordinatorState, plan: WorkPlan): ReadonlyArray<Action> =>
  directives
    .filter((directive) => {
      if (directive.status !== "relayed" || isOpen(directive)) return false
      const done = plan.subtasks.filter(isEligible).map(({ subtaskId }) => subtaskId)
      return directive.targets.every((id) => done.includes(id))
    })
    .map(({ directiveId }) => write({ _tag: "DirectiveApplied", directiveId }))
