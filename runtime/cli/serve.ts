/** `svc serve`. */
import { Cause, Data, Effect } from "effect"
import { type SharedOptions, settingsFor } from "#runtime/cli/options.ts"
import { type Outcome, outcome, runCommand, say } from "#runtime/cli/outcome.ts"
import { localKey, needsLocalKey, withLocalKey } from "#runtime/local-profile.ts"

interface ServeOptions extends SharedOptions {
  readonly local?: boolean
  readonly safeMode?: boolean
}

/** Ends when the service has stopped, with 0 where it was asked to stop. */
export const serve = (options: ServeOptions): Promise<Outcome> => runCommand(serving(options))

const serving = Effect.fnUntraced(function* (options: ServeOptions) {
  const { values } = yield* settingsFor(options)
  const settings = options.local === true && needsLocalKey(values) ? yield* withLocal(values) : values
  // not before the settings are known to be right: it loads the whole service
  const main = yield* Effect.promise(() => import("#runtime/main.ts"))
  yield* Effect.tryPromise({
    try: () => main.serve(settings, { safeMode: options.safeMode === true }),
    catch: (error) => new ServiceEnded({ message: messageOf(error) }),
  })
  return outcome.done
})

const withLocal = Effect.fnUntraced(function* (values: Parameters<typeof withLocalKey>[0]) {
  const key = yield* localKey(values.Data.Directory)
  yield* say(`${key.created ? "Created the API key" : "The API key"} of this machine: ${key.path}`)
  return withLocalKey(values, key)
})

class ServiceEnded extends Data.TaggedError("ServiceEnded")<{ readonly message: string }> {}

/** A failure that has a name has a message for whoever started the service; of anything else the stack says more. */
const messageOf = (error: unknown): string =>
  error instanceof Error && "_tag" in error ? error.message : `Unexpected: ${Cause.pretty(Cause.die(error))}`
