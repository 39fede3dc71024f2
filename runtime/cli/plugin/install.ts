/** `svc plugin install`. */
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { atOnce, homeFor, type PluginOptions, print } from "#runtime/cli/plugin/options.ts"
import { type InstallOutcome, install as installPackage } from "#runtime/plugin-host/packages/installed.ts"
import { compare } from "#runtime/plugin-host/packages/permissions.ts"

interface InstallOptions extends PluginOptions {
  readonly grant?: ReadonlyArray<string>
  readonly allowUnsigned?: boolean
  readonly disabled?: boolean
}

export const install = (path: string, options: InstallOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const home = yield* homeFor(options)
      const grant = options.grant ?? []
      const installed = yield* installPackage(home, path, {
        allowUnsigned: options.allowUnsigned === true,
        grant: grant.includes("all") ? "all" : grant,
        ...(options.disabled === true ? { enabled: false } : {}),
      })
      yield* print(options, answerOf(installed), textOf(installed))
      return outcome.done
    }),
  )

const waitsFor = ({ entry: { pending, grants } }: InstallOutcome): ReadonlyArray<string> =>
  pending === null ? [] : compare(pending.permissions, grants).missing

const answerOf = (installed: InstallOutcome) => ({
  name: installed.name,
  state: waitsFor(installed).length > 0 ? "needs_grant" : installed.entry.enabled ? "enabled" : "disabled",
  active: installed.entry.active?.version ?? null,
  pending: installed.entry.pending?.version ?? null,
  missing: waitsFor(installed),
  signature: installed.verdict,
  unchanged: installed.unchanged,
})

const textOf = (installed: InstallOutcome): string => {
  const { name, entry, verdict, unchanged } = installed
  const missing = waitsFor(installed)
  if (missing.length > 0) {
    return [
      `${name} ${entry.pending?.version} waits for a grant of what it asks for:`,
      ...missing.map((permission) => `  + ${permission}`),
      entry.active === null ? "No version of it runs." : `Version ${entry.active.version} stays.`,
      `Grant it with: svc plugin grant ${name}`,
    ].join("\n")
  }
  if (unchanged) return `${name} ${entry.active?.version} is installed already.`
  const state = entry.enabled ? atOnce : `It is disabled: svc plugin enable ${name}`
  return `${name} ${entry.active?.version} is installed (${verdict.state}). ${state}`
}
