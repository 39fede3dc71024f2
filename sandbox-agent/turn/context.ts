/** What all parts of one turn share: the request, the world, the tools, and the session as far as it is stored. */
import { Effect } from "effect"
import type { SessionEntry, TurnEvent, TurnInterrupted, TurnRequest, TurnWorld } from "#core/wire/turn.ts"
import { type Toolbox, toolbox } from "#sandbox-agent/turn/tools.ts"

export interface Turn {
  readonly request: TurnRequest
  readonly world: TurnWorld
  readonly tools: Toolbox
  /** Everything that is stored. */
  readonly entries: () => ReadonlyArray<SessionEntry>
  /** Events and entries together, or neither. */
  readonly tell: (
    events: ReadonlyArray<TurnEvent>,
    entries: ReadonlyArray<SessionEntry>,
  ) => Effect.Effect<void, TurnInterrupted>
  /** Takes in what the agent was told meanwhile; true where there was something. */
  readonly hear: Effect.Effect<boolean, TurnInterrupted>
  /** Tokens in a character, as the model last counted them. */
  readonly density: { tokensPerCharacter: number }
}

/** Until a model has counted: four characters are about a token. */
const usualDensity = 0.25

export const openTurn = Effect.fnUntraced(function* (request: TurnRequest, world: TurnWorld) {
  let entries = yield* world.session
  const tell: Turn["tell"] = (events, added) => {
    if (added.length === 0) return events.length === 0 ? Effect.void : world.emit(events)
    const stored = events.length === 0 ? world.remember(added) : world.tell(events, added)
    return Effect.tap(stored, () =>
      Effect.sync(() => {
        entries = [...entries, ...added]
      }),
    )
  }
  const turn: Turn = {
    request,
    world,
    tools: toolbox(request, world),
    entries: () => entries,
    tell,
    hear: Effect.map(world.hear, (heard) => {
      entries = [...entries, ...heard]
      return heard.length > 0
    }),
    density: { tokensPerCharacter: usualDensity },
  }
  return turn
})
