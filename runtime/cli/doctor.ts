/** `svc doctor`: looks at everything, says what to do, changes nothing. */
import { Effect } from "effect"
import type { SettingsValues } from "#core/settings.ts"
import type { Check, Finding } from "#runtime/cli/doctor/check.ts"
import { database } from "#runtime/cli/doctor/database.ts"
import { dataFolder, git, node, port, sandbox } from "#runtime/cli/doctor/machine.ts"
import { models } from "#runtime/cli/doctor/models.ts"
import { type SharedOptions, settingsFor } from "#runtime/cli/options.ts"
import { type Outcome, outcome, runCommand, say } from "#runtime/cli/outcome.ts"

export const doctor = (options: SharedOptions & { readonly json?: boolean }): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const { values } = yield* settingsFor(options)
      const findings = yield* Effect.all(checks(values), { concurrency: "unbounded" })
      yield* say(options.json === true ? JSON.stringify(findings, null, 2) : report(findings))
      return findings.some(({ status }) => status === "failed") ? outcome.failed : outcome.done
    }),
  )

const checks = (settings: SettingsValues): ReadonlyArray<Check> => [
  node,
  git,
  dataFolder(settings.Data.Directory),
  database(settings),
  port(settings.Server),
  sandbox(settings),
  models(settings),
]

const labels = { ok: "ok     ", warning: "warning", failed: "FAILED " } as const

const report = (findings: ReadonlyArray<Finding>): string => {
  const count = (status: Finding["status"]) => findings.filter((finding) => finding.status === status).length
  const lines = findings.flatMap(({ name, status, detail, advice }) => [
    `${labels[status]}  ${name}: ${detail}`,
    ...(advice === undefined ? [] : [`         ${advice}`]),
  ])
  const summary =
    count("failed") > 0
      ? `${count("failed")} of ${findings.length} checks failed: the service will not work.`
      : count("warning") > 0
        ? `The service will work, with ${count("warning")} of ${findings.length} things missing.`
        : "Everything is fine."
  return [...lines, "", summary].join("\n")
}
