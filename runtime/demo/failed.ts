/** The demo cannot go on; `message` says what to do. */
import { Data } from "effect"

export class DemoFailed extends Data.TaggedError("DemoFailed")<{ readonly message: string }> {}

export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
