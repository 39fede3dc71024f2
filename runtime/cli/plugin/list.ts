/** `svc plugin list`. */
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { homeFor, type PluginOptions, print } from "#runtime/cli/plugin/options.ts"
import { type Inspection, inspectAll } from "#runtime/plugin-host/packages/inspection.ts"

export const list = (options: PluginOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const installed = yield* inspectAll(yield* homeFor(options))
      const text = installed.length === 0 ? "No plugin is installed." : tableOf(installed)
      yield* print(options, installed, text)
      return outcome.done
    }),
  )

const tableOf = (installed: ReadonlyArray<Inspection>): string => {
  const rows = [
    ["NAME", "VERSION", "STATE", "MODE", "SIGNATURE", "ANSWERS"],
    ...installed.map(({ name, version, state, mode, signature, questions }) => [
      name,
      version,
      state,
      mode ?? "",
      signature,
      questions.join(", "),
    ]),
  ]
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  )
  const problems = installed.flatMap(({ problem }) => (problem === null ? [] : [problem]))
  return [...lines, ...(problems.length === 0 ? [] : ["", ...problems])].join("\n")
}
