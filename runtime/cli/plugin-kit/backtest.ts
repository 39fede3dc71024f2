/** `svc plugin backtest`. The same records and the same policy print the same bytes. */
import { Effect } from "effect"
import { canonicalJson } from "#core/canonical-json.ts"
import { settingsFor } from "#runtime/cli/options.ts"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { print } from "#runtime/cli/plugin/options.ts"
import { settingsGranted } from "#runtime/cli/plugin-kit/granted.ts"
import { type RecordOptions, recordsFor } from "#runtime/cli/plugin-kit/records.ts"
import { backtest as ask, type BacktestReport } from "#runtime/plugin-host/kit/backtest.ts"
import { openBuilt } from "#runtime/plugin-host/kit/build.ts"
import { candidateOf } from "#runtime/plugin-host/kit/candidate.ts"

/** Characters of an answer in the table; --json has all of them. */
const mostCharacters = 60

export const backtest = (policy: string, options: RecordOptions & { readonly json?: boolean }): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const { found, admitted } = yield* openBuilt(policy)
      const candidate = yield* candidateOf(found.manifest, admitted)
      const { values } = yield* settingsFor(options)
      // as if it were granted all that it asks for
      const config = settingsGranted(found, found.manifest.permissions, values)
      const report = ask(candidate, yield* recordsFor(options), config)
      yield* print(options, report, table(report))
      return report.refusalsChanged === 0 ? outcome.done : outcome.failed
    }),
  )

const table = ({ candidate, asked, agreed, changes, faults, skipped, refusalsChanged }: BacktestReport): string => {
  const rows = [
    ["run", "sequence", "question", "recorded", candidate.version],
    ...changes.map(({ runId, sequence, question, recorded, candidate: given, fault }) => [
      runId,
      String(sequence),
      question,
      short(recorded),
      fault === null ? short(given) : `FAULT ${fault}`.slice(0, mostCharacters),
    ]),
  ]
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  )
  return [
    `${candidate.name} ${candidate.version} (${candidate.digest})`,
    "",
    ...(changes.length > 0
      ? lines
      : [asked > 0 ? "Nothing would change." : "There was nothing that it could be asked."]),
    "",
    `Asked ${asked}: ${agreed} agree, ${changes.length} would change, ${refusalsChanged} of them refusals of a guard; ${faults} faults.`,
    `Passed over: ${skipped.otherQuestions} on other questions, ${skipped.incomplete} recorded in part, ${skipped.otherForm} of another form, ${skipped.withIo} that took input or output.`,
  ].join("\n")
}

const short = (answer: unknown): string => {
  const text = canonicalJson(answer)
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters - 1)}…` : text
}
