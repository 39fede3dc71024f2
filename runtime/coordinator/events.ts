/** The events that tell of a change. `after` is the state with the change in it; `at` is ISO 8601. */
import type { NewEvent } from "#core/event.ts"
import type { Change } from "#runtime/coordinator/change.ts"
import { answerEvents } from "#runtime/coordinator/events/answers.ts"
import { assemblyEvents } from "#runtime/coordinator/events/assembly.ts"
import { planEvents } from "#runtime/coordinator/events/plan.ts"
import { steeringEvents } from "#runtime/coordinator/events/steering.ts"
import type { Told } from "#runtime/coordinator/events/told.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"

type Tellers = { readonly [Tag in Change["_tag"]]: (told: Told<Tag>) => ReadonlyArray<NewEvent> }

const tellers: Tellers = { ...planEvents, ...answerEvents, ...assemblyEvents, ...steeringEvents }

export const eventsOf = (
  before: CoordinatorState,
  change: Change,
  after: CoordinatorState,
  at: string,
): ReadonlyArray<NewEvent> =>
  // the table says that the teller of a tag takes the change of that tag
  (tellers[change._tag] as (told: object) => ReadonlyArray<NewEvent>)({ before, change, after, at })
