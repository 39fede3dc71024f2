/** `svc plugin install`. */
import { Effect } from "effect"
import { lt } from "semver"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { atOnce, homeFor, type PluginOptions, print, unasked } from "#runtime/cli/plugin/options.ts"
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
  replaces: installed.unchanged ? null : (installed.before?.version ?? null),
  signer_before: installed.before?.signer ?? null,
  unchanged: installed.unchanged,
})

/** What an operator may not expect of another version: that it is an older one, or of other hands. */
const surprises = ({
  entry: { active, pending },
  before,
  verdict,
  unchanged,
}: InstallOutcome): ReadonlyArray<string> => {
  const version = (pending ?? active)?.version
  if (unchanged || before === null || version === undefined) return []
  const hands = verdict.keyId === null ? "is not signed" : `is signed by key ${verdict.keyId}`
  return [
    ...(lt(version, before.version) ? [`It is older than ${before.version}, which was installed before.`] : []),
    ...(before.signer !== null && before.signer !== verdict.keyId
      ? [`It ${hands}; version ${before.version} was signed by key ${before.signer}.`]
      : []),
  ]
}

const textOf = (installed: InstallOutcome): string => {
  const { name, entry, verdict, unchanged } = installed
  const missing = waitsFor(installed)
  if (missing.length > 0) {
    return [
      `${name} ${entry.pending?.version} waits for a grant of what it asks for:`,
      ...missing.map((permission) => `  + ${permission}`),
      entry.active === null ? "No version of it runs." : `Version ${entry.active.version} stays.`,
      `Grant it with: svc plugin grant ${name}`,
      ...surprises(installed),
    ].join("\n")
  }
  if (unchanged) return `${name} ${entry.active?.version} is installed already.`
  const state = entry.enabled ? atOnce : `It is disabled: svc plugin enable ${name}`
  const done = `${name} ${entry.active?.version} is installed (${verdict.state}). ${state}`
  return [done, ...surprises(installed), ...unasked(entry.active?.hooks ?? [])].join("\n")
}
