/** `svc plugin enable` and `svc plugin disable`. */
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { atOnce, homeFor, type PluginOptions, print } from "#runtime/cli/plugin/options.ts"
import { setEnabled } from "#runtime/plugin-host/packages/installed.ts"

export const switchTo = (name: string, enabled: boolean, options: PluginOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      yield* setEnabled(yield* homeFor(options), name, enabled)
      yield* print(options, { name, enabled }, `${name} is ${enabled ? "enabled" : "disabled"}. ${atOnce}`)
      return outcome.done
    }),
  )
