/** Changes by steering: a signal arrives, is decided, is carried out, and was heeded. */
import type { SteeringSignal } from "#policies/steering/model.ts"
import type { ChangeOf } from "#runtime/coordinator/change.ts"
import { onward, toReview } from "#runtime/coordinator/evolve/assembly.ts"
import {
  dispatchingAgain,
  planOf,
  reopened,
  resetTo,
  withAssembly,
  withDirective,
  withPlan,
  withRun,
  withSubtasks,
} from "#runtime/coordinator/evolve/parts.ts"
import { withFeedback } from "#runtime/coordinator/limits.ts"
import { type CoordinatorState, isGate, lastAttempt, type PlanStatus } from "#runtime/coordinator/state.ts"

/** Where a signal stops everything else until it is decided. */
const steered: ReadonlySet<PlanStatus> = new Set([
  "awaiting_assembly",
  "assembling",
  "in_review",
  "assembly_blocked",
  "rai_blocked",
  "needs_resolution",
])

/** Where a person is asked for a decision on what was assembled. */
const asked: ReadonlySet<PlanStatus> = new Set(["in_review", "assembly_blocked", "rai_blocked", "needs_resolution"])

export const fromGate = ({ source }: Pick<SteeringSignal, "source">): boolean =>
  source === "rai" || source === "build-test" || source === "rubberduck"

export const steeringSteps = {
  SignalReceived: (state: CoordinatorState, { directive, note }: ChangeOf<"SignalReceived">): CoordinatorState => {
    const received = { ...state, directives: [...state.directives, directive] }
    if (note !== null) return received
    const { signal } = directive
    const { status } = planOf(state)
    const marked = withSubtasks(received, signal.targetScope.subtaskIds ?? [], (subtask) => ({
      ...subtask,
      attempts: subtask.attempts.map((each) =>
        each === lastAttempt(subtask) && each.end === "failed" ? { ...each, signalled: true } : each,
      ),
    }))
    const roundTrip = signal.source === "human-review" && asked.has(status) ? 1 : 0
    const counted = withPlan(marked, { humanReviewRoundTrips: planOf(state).humanReviewRoundTrips + roundTrip })
    if (!steered.has(status)) return counted
    const stopped = withAssembly(withPlan(counted, { status: "assembly_steering" }), {
      returnTo: status,
      gateId: null,
      approvedTreeHash: null,
      approvedBy: null,
    })
    return state.run.status === "in_progress" ? stopped : withRun(stopped, { status: "in_progress" })
  },

  SteeringDecided: (state: CoordinatorState, decided: ChangeOf<"SteeringDecided">): CoordinatorState => {
    const { directiveId, answer, at } = decided
    const budgeted = answer.resetBudgets ? withoutUse(state) : state
    const directive = state.directives.find((each) => each.directiveId === directiveId)
    const byPerson = directive?.signal.source === "human-review"
    switch (answer.decision) {
      case "advisory":
        return concluded(carryOn(budgeted, directiveId), decided)
      case "proceed":
        return concluded(
          answer.escalation === undefined ? carryOn(budgeted, directiveId) : escalated(budgeted, answer.rationale),
          decided,
        )
      case "in_place_steer":
        return dispatchingAgain(
          counted(
            withDirective(budgeted, directiveId, (directive) => ({
              ...directive,
              status: directive.status === "relayed" ? "relayed" : "queued",
              decision: answer.decision,
              rationale: answer.rationale,
              attempt: answer.attempt,
              targets: answer.subtaskIds,
              revised: [],
            })),
            answer.subtaskIds,
            byPerson,
          ),
        )
      case "dispatch_fresh":
        return dispatchingAgain(
          counted(
            withDirective(dispatchedFresh(budgeted, decided), directiveId, (directive) => ({
              ...directive,
              status: "relayed",
              relayedAt: directive.relayedAt ?? at,
              decision: answer.decision,
              rationale: answer.rationale,
              attempt: answer.attempt,
              targets: answer.subtaskIds,
              revised: [],
            })),
            answer.implicatedSubtaskIds,
            byPerson,
          ),
        )
    }
  },

  ChildSteered: (state: CoordinatorState, { directiveId, subtaskId, at }: ChangeOf<"ChildSteered">) => {
    const steeredState = withDirective(withSubtasks(state, [subtaskId], reopened), directiveId, (directive) => {
      const revised = [...directive.revised, subtaskId]
      const all = directive.targets.every((target) => revised.includes(target))
      return {
        ...directive,
        revised,
        ...(all ? { status: "relayed" as const, relayedAt: directive.relayedAt ?? at } : {}),
      }
    })
    const child = planOf(steeredState).subtasks.find((each) => each.subtaskId === subtaskId)
    const runId = child === undefined ? undefined : lastAttempt(child)?.childRunId
    const view = runId === undefined ? undefined : state.children[runId]
    if (view === undefined) return steeredState
    return {
      ...steeredState,
      children: { ...state.children, [view.runId]: { ...view, status: "in_progress" as const, result: null } },
    }
  },

  DirectiveApplied: (state: CoordinatorState, { directiveId }: ChangeOf<"DirectiveApplied">) =>
    withDirective(state, directiveId, (directive) => ({ ...directive, status: "applied" })),
}

/** Decided, with nothing left to be carried out. */
const concluded = (state: CoordinatorState, { directiveId, answer, at }: ChangeOf<"SteeringDecided">) =>
  withDirective(state, directiveId, (directive) => ({
    ...directive,
    status: "applied",
    relayedAt: directive.relayedAt ?? at,
    decision: answer.decision,
    rationale: answer.rationale,
    attempt: answer.attempt,
    targets: answer.subtaskIds,
  }))

/** As if the signal had not come: a gate that sent it counts as passed. */
const carryOn = (state: CoordinatorState, directiveId: number): CoordinatorState => {
  const { status, assembly } = planOf(state)
  if (status !== "assembly_steering") return state
  const directive = state.directives.find((each) => each.directiveId === directiveId)
  if (directive !== undefined && fromGate(directive.signal) && isGate(assembly.stage)) return onward(state)
  return returned(state)
}

const returned = (state: CoordinatorState): CoordinatorState => {
  const { assembly } = planOf(state)
  if (assembly.returnTo === "in_review") return toReview(state, assembly.reason ?? "reviewed_again")
  return withPlan(state, { status: assembly.returnTo ?? "awaiting_assembly" })
}

const escalated = (state: CoordinatorState, rationale: string): CoordinatorState => {
  const { status, assembly } = planOf(state)
  if (status !== "assembly_steering") return state
  switch (assembly.returnTo) {
    // nothing was assembled that a person could look at; and a block by the responsible-AI pass is not lifted so
    case "awaiting_assembly":
    case "assembly_blocked":
    case "rai_blocked":
      return returned(state)
    case "needs_resolution":
      break
    default:
      if (assembly.treeHash !== null) return toReview(state, rationale)
  }
  return withPlan(state, { status: "needs_resolution", statusReason: rationale })
}

/** A person in between: everything may be tried again. */
const withoutUse = (state: CoordinatorState): CoordinatorState =>
  withPlan(state, {
    steeringIterations: 0,
    subtasks: planOf(state).subtasks.map((each) =>
      each.recoveryAttempts === 0 ? each : { ...each, recoveryAttempts: 0 },
    ),
  })

/** One more decision, and one more attempt at each of these. What a person decided costs no iteration. */
const counted = (state: CoordinatorState, subtaskIds: ReadonlyArray<number>, byPerson: boolean): CoordinatorState =>
  withPlan(
    withSubtasks(state, subtaskIds, (subtask) => ({ ...subtask, recoveryAttempts: subtask.recoveryAttempts + 1 })),
    { steeringIterations: planOf(state).steeringIterations + (byPerson ? 0 : 1) },
  )

const modelOf = ({ roster }: CoordinatorState, agent: string): string | undefined =>
  roster.find((member) => member.agent === agent)?.modelId

const dispatchedFresh = (state: CoordinatorState, { directiveId, answer }: ChangeOf<"SteeringDecided">) => {
  const feedback = state.directives.find((each) => each.directiveId === directiveId)?.signal.feedback ?? ""
  return withSubtasks(state, answer.subtaskIds, (subtask) => {
    const assigned = answer.assignments.find((each) => each.subtaskId === subtask.subtaskId)
    const meant = answer.implicatedSubtaskIds.includes(subtask.subtaskId)
    return {
      ...resetTo(subtask, "steering", "redirected"),
      ...(assigned === undefined
        ? {}
        : {
            assignedAgent: assigned.assignedAgent,
            lockedOutAgents: assigned.lockedOutAgents,
            selectedModelId: modelOf(state, assigned.assignedAgent) ?? subtask.selectedModelId,
          }),
      feedback: meant ? withFeedback(subtask.feedback, feedback) : subtask.feedback,
    }
  })
}
