/**
 * What can happen to a coordinator run. A change is decided from a state, written with its rows and events in one
 * commit, and carried into the next state by `evolve`: the same function says what tests and the database see.
 */
import type { SteeringAnswer } from "#policies/steering/model.ts"
import type { AttemptEnd, Dependency, Directive, Gate, OutcomeSpec, Subtask } from "#runtime/coordinator/state.ts"

/** Something in the model's decomposition that was not taken as it was. */
export interface Adjustment {
  /** From 1; null where it is about the whole. */
  readonly item: number | null
  readonly reason: string
  readonly detail?: string
}

export interface Draft extends Pick<OutcomeSpec, "desiredOutcome" | "scope" | "assumptions" | "clarifyingQuestions"> {}

export interface Infrastructure {
  readonly reason: string
  readonly message: string
}

export type Change =
  | { readonly _tag: "Started" }
  | { readonly _tag: "SpecDrafted"; readonly specId: number; readonly draft: Draft }
  | { readonly _tag: "SpecConfirmed"; readonly by: string; readonly allowTaskPromotion: boolean }
  | { readonly _tag: "SpecRevised"; readonly by: string; readonly feedback: string }
  | { readonly _tag: "SpecDeclined" }
  | {
      readonly _tag: "PlanDrafted"
      readonly workPlanId: number
      readonly workflowId: string | null
      readonly gates: ReadonlyArray<Gate>
      readonly subtasks: ReadonlyArray<Subtask>
      readonly dependencies: ReadonlyArray<Dependency>
      readonly adjustments: ReadonlyArray<Adjustment>
    }
  | { readonly _tag: "DispatchBegan" }
  | { readonly _tag: "Dispatched"; readonly subtaskId: number; readonly attempt: number; readonly childRunId: string }
  | { readonly _tag: "ChildRunning"; readonly subtaskId: number }
  | {
      readonly _tag: "ChildSettled"
      readonly subtaskId: number
      readonly end: Extract<AttemptEnd, "assemble_ready" | "completed" | "rai_flagged" | "failed" | "stopped">
    }
  /** The child is given up; the subtask gets a fresh one where `redispatched`. */
  | {
      readonly _tag: "ChildStalled"
      readonly subtaskId: number
      readonly childRunId: string
      readonly staleSince: number
      readonly lastSequence: number
      readonly redispatched: boolean
      readonly at: number
    }
  /** By the coordinator on autopilot, in place of a person. */
  | {
      readonly _tag: "QuestionAnswered"
      /** Null: the outcome spec asked it. */
      readonly childRunId: string | null
      readonly requestId: string
      readonly question: string
      readonly answer: string
    }
  | {
      readonly _tag: "DependentsMoved"
      readonly blocked: ReadonlyArray<number>
      readonly unblocked: ReadonlyArray<number>
    }
  | { readonly _tag: "ChildrenCompleted" }
  | { readonly _tag: "AssemblyStarted" }
  | { readonly _tag: "AssemblyBlocked"; readonly reason: string; readonly infrastructure: Infrastructure | null }
  /** Files of its child were taken as they are: they hold what the others changed in them. */
  | { readonly _tag: "ConflictSettled"; readonly subtaskId: number; readonly files: ReadonlyArray<string> }
  | { readonly _tag: "Integrated"; readonly commit: string; readonly treeHash: string; readonly hasChanges: boolean }
  | {
      readonly _tag: "IntegrationConflicted"
      readonly subtaskId: number
      readonly files: ReadonlyArray<string>
      readonly final: boolean
    }
  | { readonly _tag: "GateStarted"; readonly gateId: string }
  | { readonly _tag: "GatePassed"; readonly verdict: string; readonly summary: string }
  /** The signal that says what is wanted follows in the same commit. */
  | { readonly _tag: "GateRejected"; readonly verdict: string; readonly summary: string }
  | { readonly _tag: "RaiBlocked"; readonly reason: string }
  | { readonly _tag: "ReviewRequested"; readonly diff: string; readonly gateId: string }
  | { readonly _tag: "ReviewApproved"; readonly by: string }
  | { readonly _tag: "ReviewDeclined"; readonly by: string; readonly reason: string }
  | { readonly _tag: "Merged"; readonly commit: string }
  /** Nothing was changed, and it may work later. */
  | { readonly _tag: "MergeBlocked"; readonly reason: string }
  | { readonly _tag: "MergeConflicted"; readonly reason: string; readonly files: ReadonlyArray<string> }
  | { readonly _tag: "Scribed"; readonly failure: string | null }
  | { readonly _tag: "Completed" }
  | { readonly _tag: "Failed"; readonly reason: string; readonly message: string; readonly retryable: boolean }
  /** A person stopped the whole. */
  | { readonly _tag: "Stopped"; readonly by: string }
  /** A directive arrived. `note`: it is kept and told, and nothing else happens. */
  | { readonly _tag: "SignalReceived"; readonly directive: Directive; readonly note: string | null }
  | {
      readonly _tag: "SteeringDecided"
      readonly directiveId: number
      readonly answer: SteeringAnswer
      /** What of the policy's answer was not taken as it was. */
      readonly corrections: ReadonlyArray<string>
      readonly eligible: ReadonlyArray<{ readonly subtaskId: number; readonly agents: ReadonlyArray<string> }>
      readonly at: string
    }
  /** A child was given the correction: the marker of the revision. */
  | { readonly _tag: "ChildSteered"; readonly directiveId: number; readonly subtaskId: number; readonly at: string }
  | { readonly _tag: "DirectiveApplied"; readonly directiveId: number }
  /** A person lets a plan go on that was held up. */
  | { readonly _tag: "Rearmed"; readonly by: string; readonly reason: string; readonly feedback: string }

export type ChangeOf<Tag extends Change["_tag"]> = Extract<Change, { readonly _tag: Tag }>
