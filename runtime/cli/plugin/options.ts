/** What the commands share: where the plugins are, and how a result is printed. */
import { Effect } from "effect"
import { notYetAsked } from "#policies/questions.ts"
import { type SharedOptions, settingsFor } from "#runtime/cli/options.ts"
import { say } from "#runtime/cli/outcome.ts"
import { type Home, homeOf } from "#runtime/plugin-host/packages/home.ts"

export interface PluginOptions extends SharedOptions {
  readonly json?: boolean
}

export const homeFor = Effect.fnUntraced(function* (options: SharedOptions) {
  const { values } = yield* settingsFor(options)
  return homeOf(values) satisfies Home
})

/** The value as JSON where that was asked for, the text otherwise. */
export const print = ({ json }: PluginOptions, value: unknown, text: string): Effect.Effect<void> =>
  say(json === true ? JSON.stringify(value, null, 2) : text)

/** Ends what changed something: a service that is running follows the lock file. */
export const atOnce = "A service that is running follows within a second."

export const listed = (names: ReadonlyArray<string>): string => (names.length === 0 ? "nothing" : names.join(", "))

/** For whoever relies on a policy: which of its questions this version has no occasion to ask. */
export const unasked = (questions: ReadonlyArray<string>): ReadonlyArray<string> => {
  const idle = questions.filter((question) => notYetAsked.includes(question))
  return idle.length === 0 ? [] : [`This version of svc does not ask ${listed(idle)} yet: a policy has no say there.`]
}
