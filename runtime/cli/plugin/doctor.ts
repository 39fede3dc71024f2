/** `svc plugin doctor`: looks at all that is installed, says what to do, changes nothing. */
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { homeFor, type PluginOptions, print, unasked } from "#runtime/cli/plugin/options.ts"
import { type Inspection, inspectAll } from "#runtime/plugin-host/packages/inspection.ts"
import { readTrust } from "#runtime/plugin-host/packages/trust.ts"

interface Finding {
  readonly status: "ok" | "warning" | "failed"
  readonly name: string
  readonly detail: string
}

export const doctor = (options: PluginOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const home = yield* homeFor(options)
      const trust = yield* readTrust(home.plugins)
      const inUse = trust.filter(({ revoked_at }) => revoked_at === undefined).length
      const findings: ReadonlyArray<Finding> = [
        { status: "ok", name: "plugins folder", detail: `${home.plugins}, ${inUse} trusted keys` },
        ...(yield* inspectAll(home)).map(findingOf),
      ]
      const text = findings.map(({ status, name, detail }) => `${labels[status]}  ${name}: ${detail}`).join("\n")
      yield* print(options, findings, text)
      return findings.some(({ status }) => status === "failed") ? outcome.failed : outcome.done
    }),
  )

const labels = { ok: "ok     ", warning: "warning", failed: "FAILED " } as const

const findingOf = ({ name, version, state, signature, problem, pending, questions }: Inspection): Finding => {
  const [idle] = unasked(questions)
  const about = `${name} ${version}`
  switch (state) {
    case "refused":
      return { status: "failed", name: about, detail: problem ?? "It may not run." }
    case "needs_grant":
      return {
        status: "warning",
        name: about,
        detail: problem ?? `Version ${pending?.version} waits: svc plugin inspect ${name}`,
      }
    case "disabled":
      return { status: "ok", name: about, detail: "disabled" }
    case "enabled":
      if (idle !== undefined) return { status: "warning", name: about, detail: idle }
      return signature === "unsigned"
        ? { status: "warning", name: about, detail: "It runs without a signature, as it was accepted." }
        : { status: "ok", name: about, detail: signature }
  }
}
