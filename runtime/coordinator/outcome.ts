/** What follows from the world's answers to the coordinator's actions. */
import type { SteeringAnswer, SteeringSignal } from "#policies/steering/model.ts"
import type { Change, Infrastructure } from "#runtime/coordinator/change.ts"
import { planOf, subtaskOf } from "#runtime/coordinator/evolve/parts.ts"
import type { CoordinatorState, Directive, Gate } from "#runtime/coordinator/state.ts"
import { admit } from "#runtime/coordinator/steering/admit.ts"
import { steeringAsk } from "#runtime/coordinator/steering/ask.ts"

/** Ids and the time, for what is written. */
export interface Stamp {
  /** A fresh id of the coordination's own. */
  readonly id: number
  /** ISO 8601. */
  readonly at: string
}

export const newDirective = (
  signal: SteeringSignal,
  { id, at }: Stamp,
  status: Directive["status"] = "pending",
): Directive => ({
  directiveId: id,
  signal,
  status,
  decision: null,
  rationale: null,
  attempt: 0,
  targets: [],
  revised: [],
  createdAt: at,
  relayedAt: status === "pending" ? null : at,
})

export const received = (signal: SteeringSignal, stamp: Stamp, status?: Directive["status"]): Change => ({
  _tag: "SignalReceived",
  directive: newDirective(signal, stamp, status),
  note: null,
})

/** The goal is the spec: the person who asked has said what is wanted, and nobody is asked again. */
export const synthesized = ({ run }: CoordinatorState, specId: number): ReadonlyArray<Change> => [
  {
    _tag: "SpecDrafted",
    specId,
    draft: { desiredOutcome: run.goal, scope: "", assumptions: "", clarifyingQuestions: null },
  },
  { _tag: "SpecConfirmed", by: run.submittedBy, allowTaskPromotion: false },
]

export type Integration =
  | {
      readonly _tag: "Integrated"
      readonly commit: string
      readonly treeHash: string
      readonly hasChanges: boolean
      /** Conflicts in which the child's version has all of the other and more, in the order of the integration. */
      readonly settled: ReadonlyArray<{ readonly subtaskId: number; readonly files: ReadonlyArray<string> }>
    }
  | { readonly _tag: "Conflict"; readonly subtaskId: number; readonly files: ReadonlyArray<string> }

/** Overlapping work is done again on top of the rest, once; after that a person resolves it. No side is ever dropped. */
export const integrated = (state: CoordinatorState, answer: Integration, stamp: Stamp): ReadonlyArray<Change> => {
  if (answer._tag === "Integrated") {
    const { settled, ...result } = answer
    return [...settled.map((each): Change => ({ _tag: "ConflictSettled", ...each })), result]
  }
  const { subtaskId, files } = answer
  const conflicted = subtaskOf(planOf(state), subtaskId)
  const final = conflicted.onTop
  const conflict: Change = { _tag: "IntegrationConflicted", subtaskId, files, final }
  if (final) return [conflict]
  return [
    conflict,
    received(
      {
        coordinatorRunId: state.run.runId,
        source: "coordinator",
        targetScope: { kind: "subtask", subtaskIds: [subtaskId] },
        feedback: `The work overlaps with that of other subtasks, which is now in your checkout. Do yours again on top of it. Files: ${files.join(", ")}`,
        severity: "request-changes",
        verb: "dispatch-fresh",
        treeHash: null,
        targetFiles: null,
        createdBy: "coordinator",
      },
      stamp,
    ),
  ]
}

export type GateAnswer =
  | { readonly _tag: "Passed"; readonly verdict: string; readonly summary: string }
  | {
      readonly _tag: "Rejected"
      readonly verdict: string
      readonly summary: string
      readonly severity: "request-changes" | "blocking"
      /** Null where the reviewer did not name any. */
      readonly targetFiles: ReadonlyArray<string> | null
    }
  /** The responsible-AI pass says no, and only a person can say otherwise. */
  | { readonly _tag: "Blocked"; readonly reason: string }
  | { readonly _tag: "Unavailable"; readonly infrastructure: Infrastructure }

export const gated = (state: CoordinatorState, gate: Gate, answer: GateAnswer, stamp: Stamp): ReadonlyArray<Change> => {
  switch (answer._tag) {
    case "Passed":
      return [{ _tag: "GatePassed", verdict: answer.verdict, summary: answer.summary }]
    case "Blocked":
      return [{ _tag: "RaiBlocked", reason: answer.reason }]
    case "Unavailable":
      return [
        {
          _tag: "AssemblyBlocked",
          reason: `${gate.replace("-", "_")}_infrastructure_unavailable`,
          infrastructure: answer.infrastructure,
        },
      ]
    case "Rejected":
      return [
        { _tag: "GateRejected", verdict: answer.verdict, summary: answer.summary },
        received(
          {
            coordinatorRunId: state.run.runId,
            source: gate,
            targetScope: { kind: "work-plan" },
            feedback: answer.summary,
            severity: answer.severity,
            verb: "redirect",
            treeHash: planOf(state).assembly.treeHash,
            targetFiles: answer.targetFiles,
            createdBy: gate,
          },
          stamp,
        ),
      ]
  }
}

/** The policy's answer, held to what it may decide. */
export const steered = (
  state: CoordinatorState,
  directiveId: number,
  given: SteeringAnswer,
  at: string,
): ReadonlyArray<Change> => {
  const directive = state.directives.find((each) => each.directiveId === directiveId)
  if (directive === undefined) return []
  const ask = steeringAsk(state, directive)
  const { answer, corrections } = admit(ask, given)
  const eligible = ask.plan.subtasks
    .filter(({ subtaskId }) => answer.implicatedSubtaskIds.includes(subtaskId))
    .map(({ subtaskId, eligibleAgents }) => ({ subtaskId, agents: eligibleAgents }))
  return [{ _tag: "SteeringDecided", directiveId, answer, corrections, eligible, at }]
}

export type MergeAnswer =
  | { readonly _tag: "Merged"; readonly commit: string }
  | { readonly _tag: "Blocked"; readonly reason: string }
  | { readonly _tag: "Conflict"; readonly reason: string; readonly files: ReadonlyArray<string> }

export const merged = (answer: MergeAnswer): ReadonlyArray<Change> => {
  switch (answer._tag) {
    case "Merged":
      return [answer]
    case "Blocked":
      return [{ _tag: "MergeBlocked", reason: answer.reason }]
    case "Conflict":
      return [{ _tag: "MergeConflicted", reason: answer.reason, files: answer.files }]
  }
}
