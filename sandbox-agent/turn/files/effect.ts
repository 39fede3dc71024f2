/** Work on files as effects: what is refused is a value, and a change that has begun is not cut off. */
import { Effect } from "effect"
import { type FileRefused, refusalOf } from "#sandbox-agent/turn/files/refused.ts"

/** Interrupting it ends the work at its next look at the signal. */
export const reading = <A>(work: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, FileRefused> =>
  Effect.tryPromise({ try: work, catch: (error) => refusalOf(error, "The file system") })

export const changing = <A>(work: () => Promise<A>): Effect.Effect<A, FileRefused> =>
  Effect.uninterruptible(Effect.tryPromise({ try: work, catch: (error) => refusalOf(error, "The file system") }))
