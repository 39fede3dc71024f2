/** Events that the turn engine tells, as events of the log, with what the run's row keeps of them. */
import type { NewEvent } from "#core/event.ts"
import * as run from "#core/run/events/run.ts"
import * as turn from "#core/run/events/turn.ts"
import type { RunFacts } from "#core/run/store.ts"
import { storableText } from "#core/storable.ts"
import type { TurnEvent } from "#core/wire/turn.ts"

interface Told {
  readonly type: string
  /** Throws where the payload is not of the type's shape. */
  readonly of: (payload: never) => NewEvent
}

/** What an engine may tell of: its turns and tools, and how its work went. */
const tellable: ReadonlyArray<Told> = [...Object.values(turn), run.RunBounded, run.RunDegraded, run.RunOutcome]

const types = new Map(tellable.map((event) => [event.type, event]))

/** An event of a type that no engine may tell of, or of another shape, is a fault of the engine. */
export const eventOf = ({ type, payload }: TurnEvent): NewEvent => {
  const known = types.get(type)
  if (known === undefined) throw new Error(`The turn engine told of an event that is not its own: ${type}`)
  // the schema of the type checks it
  return known.of(payload as never)
}

/** What the row of the run keeps of these events; undefined where that is nothing. */
export const factsOf = (events: ReadonlyArray<TurnEvent>): RunFacts | undefined => {
  const steps = events.filter(({ type }) => type === "agent.turn.end").length
  const outcome = events.findLast(({ type }) => type === "run.outcome")?.payload as
    | { readonly achieved: boolean; readonly reason: string | null }
    | undefined // of the event's shape: `eventOf` checks it
  if (steps === 0 && outcome === undefined) return undefined
  return {
    ...(steps === 0 ? {} : { steps }),
    ...(outcome === undefined
      ? {}
      : {
          outcomeAchieved: outcome.achieved,
          outcomeReason: outcome.reason === null ? null : storableText(outcome.reason),
        }),
  }
}
