/** Events of steering: what was asked, what was decided from what, and how far it is carried out. */
import type { NewEvent } from "#core/event.ts"
import {
  AssemblyChangesRequested,
  ScopeFallback,
  Steering,
  SteeringDecision,
  SteeringReceived,
} from "#core/run/events/steering.ts"
import type { Told } from "#runtime/coordinator/events/told.ts"
import { planOf, subtaskOf } from "#runtime/coordinator/evolve/parts.ts"
import type { CoordinatorState, Directive } from "#runtime/coordinator/state.ts"

const directiveOf = (state: CoordinatorState, directiveId: number): Directive | undefined =>
  state.directives.find((each) => each.directiveId === directiveId)

const told = (directive: Directive, more: { readonly note?: string; readonly humanReviewRoundTrip?: number } = {}) =>
  Steering.of({
    directiveId: directive.directiveId,
    kind: directive.signal.verb,
    targetChildRunId: directive.signal.targetScope.childRunId ?? null,
    status: directive.status,
    instruction: directive.signal.feedback,
    source: directive.signal.source,
    ...more,
  })

const budgetOf = (state: CoordinatorState, subtaskIds: ReadonlyArray<number>) => {
  const { steeringIterations, subtasks } = planOf(state)
  return {
    steeringIterations,
    recoveryAttempts: subtasks
      .filter(({ subtaskId }) => subtaskIds.includes(subtaskId))
      .map(({ subtaskId, recoveryAttempts }) => ({ subtaskId, used: recoveryAttempts })),
  }
}

export const steeringEvents = {
  SignalReceived: ({ change: { directive, note }, after }: Told<"SignalReceived">): ReadonlyArray<NewEvent> => {
    const { signal, directiveId } = directive
    const received = SteeringReceived.of({
      directiveId,
      source: signal.source,
      severity: signal.severity,
      verb: signal.verb,
      targetScope: signal.targetScope,
      feedback: signal.feedback,
      treeHash: signal.treeHash,
      ...(signal.targetFiles === null ? {} : { targetFiles: signal.targetFiles }),
      createdBy: signal.createdBy,
    })
    const trips = after.plan?.humanReviewRoundTrips ?? 0
    return [
      received,
      told(directive, {
        ...(note === null ? {} : { note }),
        ...(signal.source === "human-review" && trips > 0 ? { humanReviewRoundTrip: trips } : {}),
      }),
    ]
  },

  SteeringDecided: ({ before, change, after }: Told<"SteeringDecided">): ReadonlyArray<NewEvent> => {
    const { directiveId, answer, corrections, eligible } = change
    const directive = directiveOf(after, directiveId)
    if (directive === undefined) return []
    const { signal } = directive
    const { workPlanId } = planOf(before)
    const events: Array<NewEvent> = []
    if (answer.scopeFallback !== null) {
      events.push(
        ScopeFallback.of({
          workPlanId,
          source: signal.source,
          reviewer: signal.createdBy,
          ...answer.scopeFallback,
        }),
      )
    }
    events.push(
      SteeringDecision.of({
        directiveId,
        decision: answer.decision,
        rationale: answer.rationale,
        subtaskIds: answer.subtaskIds,
        attempt: answer.attempt,
        ...(answer.escalation === undefined ? {} : { escalation: answer.escalation }),
        ...(answer.disposition === undefined ? {} : { disposition: answer.disposition }),
        implicatedSubtaskIds: answer.implicatedSubtaskIds,
        dependentSubtaskIds: answer.dependentSubtaskIds,
        assignments: answer.assignments,
        candidates: eligible.map(({ subtaskId, agents }) => ({ subtaskId, eligibleAgents: agents })),
        budgetBefore: budgetOf(before, answer.subtaskIds),
        budgetAfter: budgetOf(after, answer.subtaskIds),
        ...(corrections.length === 0 ? {} : { corrections }),
      }),
    )
    const rejected = planOf(before).status === "assembly_steering"
    const acts = answer.decision === "in_place_steer" || answer.decision === "dispatch_fresh"
    if (rejected && acts) {
      const fresh = answer.decision === "dispatch_fresh" ? answer.subtaskIds : []
      events.push(
        AssemblyChangesRequested.of({
          workPlanId,
          redispatchSubtaskIds: fresh,
          redispatchedSubtaskIds: fresh,
          implicatedSubtaskIds: answer.implicatedSubtaskIds,
          dependentSubtaskIds: answer.dependentSubtaskIds,
          feedback: signal.feedback,
        }),
      )
    }
    return [...events, told(directive)]
  },

  ChildSteered: ({ after, change: { directiveId, subtaskId } }: Told<"ChildSteered">): ReadonlyArray<NewEvent> => {
    const directive = directiveOf(after, directiveId)
    if (directive === undefined) return []
    const { title } = subtaskOf(planOf(after), subtaskId)
    return [told(directive, { note: `The child of "${title}" was given the correction.` })]
  },

  DirectiveApplied: ({ after, change: { directiveId } }: Told<"DirectiveApplied">): ReadonlyArray<NewEvent> => {
    const directive = directiveOf(after, directiveId)
    return directive === undefined ? [] : [told(directive)]
  },
}
