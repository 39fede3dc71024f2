/**
 * Everything that a coordinator does outside of its own rows. Each of these may be called again after a crash, and
 * must then come to the same end: a merge that was made is made, a branch that is there is there.
 */
import { Context, type Effect, Schema } from "effect"
import type { NewEvent } from "#core/event.ts"
import type { NewRun } from "#core/run/new-run.ts"
import type { SteeringAnswer, SteeringAsk } from "#policies/steering/model.ts"
import type { ActionOf } from "#runtime/coordinator/action.ts"
import type { Draft } from "#runtime/coordinator/change.ts"
import type { Limits } from "#runtime/coordinator/limits.ts"
import type { Decomposition } from "#runtime/coordinator/model/decompose.ts"
import type { GateAnswer, Integration, MergeAnswer } from "#runtime/coordinator/outcome.ts"
import type { CoordinatorState, Gate, Subtask } from "#runtime/coordinator/state.ts"

/**
 * `retryable`: the same again may go well; the driver does it again by itself, unless it was tried as often as it makes
 * sense (`exhausted`). The message is for people and holds no secret.
 */
export class WorldFailed extends Schema.TaggedError<WorldFailed>()("WorldFailed", {
  reason: Schema.String,
  message: Schema.String,
  retryable: Schema.Boolean,
  exhausted: Schema.optionalKey(Schema.Boolean),
}) {}

/** The reason of a failure by which a policy keeps an assembly from going before a person. */
export const refusedByPolicy = "refused_by_policy"

type Answer<A> = Effect.Effect<A, WorldFailed>

/** Appends events while something long goes on. */
export type Tell = (events: ReadonlyArray<NewEvent>) => Answer<void>

export interface DispatchSpec {
  readonly state: CoordinatorState
  readonly subtask: Subtask
  readonly attempt: number
  /** Subtasks whose work the child finds in its checkout, in this order. */
  readonly base: ReadonlyArray<number>
  readonly childRunId: string
}

export class CoordinatorWorld extends Context.Service<
  CoordinatorWorld,
  {
    readonly limits: Effect.Effect<Limits>
    readonly draftSpec: (state: CoordinatorState, tell: Tell) => Answer<Draft>
    /** Selects the workflow, and with it the gates, and parts the outcome. */
    readonly decompose: (
      state: CoordinatorState,
      tell: Tell,
    ) => Answer<{
      readonly workflowId: string | null
      readonly gates: ReadonlyArray<Gate>
      readonly parts: Decomposition
    }>
    /** What the child's run is made of; the branch that it starts from is there afterwards. */
    readonly prepareChild: (spec: DispatchSpec) => Answer<NewRun>
    /** The files of the commits of each child, by its run id. */
    readonly touchedFiles: (state: CoordinatorState) => Answer<Readonly<Record<string, ReadonlyArray<string>>>>
    readonly decide: (ask: SteeringAsk, runId: string) => Answer<SteeringAnswer>
    /** In place of a person, who is not to be asked. */
    readonly answerQuestion: (
      state: CoordinatorState,
      asked: Omit<ActionOf<"AnswerQuestion">, "_tag">,
      tell: Tell,
    ) => Answer<string>
    readonly integrate: (state: CoordinatorState, order: ReadonlyArray<number>) => Answer<Integration>
    readonly runGate: (state: CoordinatorState, gate: ActionOf<"RunGate">, tell: Tell) => Answer<GateAnswer>
    /** Unified diff of what a person is to review; fails with `refusedByPolicy` where a policy holds it back. */
    readonly diff: (state: CoordinatorState) => Answer<string>
    readonly merge: (state: CoordinatorState, merge: ActionOf<"Merge">) => Answer<MergeAnswer>
    /** Best effort: the reason where it could not be done, else null. */
    readonly scribe: (state: CoordinatorState) => Effect.Effect<string | null>
  }
>()("runtime/CoordinatorWorld") {}
