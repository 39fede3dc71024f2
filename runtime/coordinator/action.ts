/** What the coordinator can do next. `Write` is known beforehand; the others ask the world first. */
import type { SteeringSignal } from "#policies/steering/model.ts"
import type { Change } from "#runtime/coordinator/change.ts"
import type { Gate } from "#runtime/coordinator/state.ts"

export type Action =
  | { readonly _tag: "Write"; readonly changes: ReadonlyArray<Change> }
  /** The goal itself becomes the spec: nobody is asked. */
  | { readonly _tag: "SynthesizeSpec" }
  | { readonly _tag: "DraftSpec" }
  | { readonly _tag: "Decompose" }
  /** A child that starts from the work of `base`, in this order. */
  | {
      readonly _tag: "Dispatch"
      readonly subtaskId: number
      readonly attempt: number
      readonly base: ReadonlyArray<number>
    }
  | { readonly _tag: "Signal"; readonly signal: SteeringSignal }
  | { readonly _tag: "Decide"; readonly directiveId: number }
  | {
      readonly _tag: "SteerChild"
      readonly directiveId: number
      readonly subtaskId: number
      readonly childRunId: string
      readonly instruction: string
    }
  /** On autopilot: what a person would be asked, by a child or (null) by the outcome spec. */
  | {
      readonly _tag: "AnswerQuestion"
      readonly childRunId: string | null
      readonly requestId: string
      readonly question: string
    }
  /** The work of these subtasks, in this order, onto the branch that the run began at. */
  | { readonly _tag: "Integrate"; readonly order: ReadonlyArray<number> }
  | { readonly _tag: "RunGate"; readonly gate: Gate; readonly gateId: string }
  | { readonly _tag: "RequestReview"; readonly gateId: string }
  | { readonly _tag: "Merge"; readonly commit: string; readonly treeHash: string; readonly approvedBy: string }
  | { readonly _tag: "Scribe" }

export type ActionOf<Tag extends Action["_tag"]> = Extract<Action, { readonly _tag: Tag }>

export const write = (...changes: ReadonlyArray<Change>): Action => ({ _tag: "Write", changes })
