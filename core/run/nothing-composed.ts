/** What is told of the memory of a question to a model where no plugin composes any. */
import { MemoryContextComposition } from "#core/run/events/turn.ts"

export const nothingComposed = MemoryContextComposition.of({
  included: { decisions: [], memories: [], session: null },
  omittedMemoryCount: 0,
  omittedSessionCount: 0,
  omissionCauses: [],
})
