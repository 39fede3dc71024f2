/** Lets so many log lines of a plugin through in a while, and says how many it did not. Their length is the call's to bound. */
import { Clock, Effect } from "effect"
import type { LogLine } from "#runtime/plugin-host/wasm/policy-call.ts"

/** This many lines … */
const linesAtOnce = 100
/** … in this many milliseconds. */
const whileMs = 10_000

export const makeLogValve = (plugin: string) => {
  let begun = Number.NEGATIVE_INFINITY
  let passed = 0
  let held = 0

  const pass = ({ level, message }: LogLine): Effect.Effect<void> => {
    switch (level) {
      case "trace":
        return Effect.logTrace(message)
      case "debug":
        return Effect.logDebug(message)
      case "info":
        return Effect.logInfo(message)
      case "warn":
        return Effect.logWarning(message)
      case "error":
        return Effect.logError(message)
    }
  }

  return (lines: ReadonlyArray<LogLine>): Effect.Effect<void> =>
    lines.length === 0
      ? Effect.void
      : Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          if (now - begun >= whileMs) {
            if (held > 0) yield* Effect.logWarning(`${held} more log lines were left out`)
            begun = now
            passed = 0
            held = 0
          }
          const through = lines.slice(0, linesAtOnce - passed)
          passed += through.length
          held += lines.length - through.length
          yield* Effect.forEach(through, pass, { discard: true })
        }).pipe(Effect.annotateLogs({ plugin }))
}
