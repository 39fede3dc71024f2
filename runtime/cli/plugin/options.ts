/** What the commands share: where the plugins are, and how a result is printed. */
import { Effect } from "effect"
import { type SharedOptions, settingsFor } from "#runtime/cli/options.ts"
import { say } from "#runtime/cli/outcome.ts"
import type { Home } from "#runtime/plugin-host/packages/installed.ts"
import { pluginsFolder } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { version } from "#runtime/version.ts"

export interface PluginOptions extends SharedOptions {
  readonly json?: boolean
}

export const homeFor = Effect.fnUntraced(function* (options: SharedOptions) {
  const { values } = yield* settingsFor(options)
  return { plugins: pluginsFolder(values.Data.Directory), world: { version } } satisfies Home
})

/** The value as JSON where that was asked for, the text otherwise. */
export const print = ({ json }: PluginOptions, value: unknown, text: string): Effect.Effect<void> =>
  say(json === true ? JSON.stringify(value, null, 2) : text)

/** Ends what changed something: a service that is running reads the plugins when it starts. */
export const untilRestart = "A service that is running uses it once it is restarted."

export const listed = (names: ReadonlyArray<string>): string => (names.length === 0 ? "nothing" : names.join(", "))
