/** The state after a change. Pure; a change that does not fit is a mistake of ours, and throws. */
import type { Change, ChangeOf } from "#runtime/coordinator/change.ts"
import { answerSteps } from "#runtime/coordinator/evolve/answers.ts"
import { assemblySteps } from "#runtime/coordinator/evolve/assembly.ts"
import { dispatchSteps } from "#runtime/coordinator/evolve/dispatch.ts"
import { specSteps } from "#runtime/coordinator/evolve/spec.ts"
import { steeringSteps } from "#runtime/coordinator/evolve/steering.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"

type Steps = { readonly [Tag in Change["_tag"]]: (state: CoordinatorState, change: ChangeOf<Tag>) => CoordinatorState }

const steps: Steps = { ...specSteps, ...dispatchSteps, ...answerSteps, ...assemblySteps, ...steeringSteps }

export const evolve = (state: CoordinatorState, change: Change): CoordinatorState =>
  // the table says that the step of a tag takes the change of that tag
  (steps[change._tag] as (state: CoordinatorState, change: Change) => CoordinatorState)(state, change)

export const evolveAll = (state: CoordinatorState, changes: ReadonlyArray<Change>): CoordinatorState =>
  changes.reduce(evolve, state)
