/** `svc plugin inspect`. */
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { homeFor, listed, type PluginOptions, print } from "#runtime/cli/plugin/options.ts"
import { type Inspection, inspect as inspectPlugin } from "#runtime/plugin-host/packages/inspection.ts"
import { entryNamed } from "#runtime/plugin-host/packages/installed.ts"

export const inspect = (name: string, options: PluginOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const home = yield* homeFor(options)
      const inspection = yield* inspectPlugin(home, name, yield* entryNamed(home, name))
      yield* print(options, inspection, textOf(inspection))
      return outcome.done
    }),
  )

const textOf = (shown: Inspection): string =>
  [
    `${shown.name} ${shown.version}: ${shown.state}`,
    `  signature  ${shown.signature}: ${shown.signature_detail}`,
    `  answers    ${listed(shown.questions)}`,
    `  mode       ${shown.mode ?? "unknown"}`,
    `  granted    ${listed(shown.grants)}`,
    `  manifest   ${shown.manifest}`,
    `  module     ${shown.module}`,
    `  installed  ${shown.installed_at}`,
    ...(shown.pending === null
      ? []
      : [
          `  waiting    ${shown.pending.version}, which asks for`,
          ...shown.pending.permissions.missing.map((permission) => `             + ${permission}`),
          ...shown.pending.permissions.granted.map((permission) => `               ${permission} (granted)`),
          ...shown.pending.permissions.unused.map((permission) => `             - ${permission}`),
        ]),
    ...(shown.problem === null ? [] : [`  problem    ${shown.problem}`]),
  ].join("\n")
