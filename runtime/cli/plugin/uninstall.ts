/** `svc plugin uninstall`. */
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { atOnce, homeFor, type PluginOptions, print } from "#runtime/cli/plugin/options.ts"
import { uninstall as remove } from "#runtime/plugin-host/packages/installed.ts"

export const uninstall = (name: string, options: PluginOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const { active, pending } = yield* remove(yield* homeFor(options), name)
      const version = (active ?? pending)?.version ?? null
      yield* print(options, { name, version, uninstalled: true }, `${name} is uninstalled, with its grants. ${atOnce}`)
      return outcome.done
    }),
  )
