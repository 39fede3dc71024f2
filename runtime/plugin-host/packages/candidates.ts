/**
 * What is installed, as the plugin host takes it: a candidate for each package. One that may not run is a candidate with a problem,
 * so that it is refused with the reason, and its guards stay closed; one that is switched off, or was never granted what it asks
 * for, is only listed.
 */
import { Effect } from "effect"
import { definePlugin, PluginFailed } from "#core/plugin.ts"
import type { Candidate } from "#runtime/plugin-host/candidate.ts"
import { effective, mayBeGranted, notGrantable } from "#runtime/plugin-host/packages/grantable.ts"
import type { Home } from "#runtime/plugin-host/packages/home.ts"
import { loadPinned, mayRun } from "#runtime/plugin-host/packages/installed.ts"
import { type LockEntry, type Pinned, readLock } from "#runtime/plugin-host/packages/lock-file.ts"
import { compare } from "#runtime/plugin-host/packages/permissions.ts"
import { policyPlugin } from "#runtime/plugin-host/packages/policy-plugin.ts"
import { type PackageRefused, refuse } from "#runtime/plugin-host/packages/refused.ts"
import { folderOf } from "#runtime/plugin-host/packages/store.ts"

export interface InstalledCandidate extends Candidate {
  /** The same for the same package with the same grants and the same say: where it is another one, the plugin is exchanged. */
  readonly mark: string
}

/** By name. Fails where the lock file cannot be read: nobody knows then which guards there should be. */
export const installedCandidates = Effect.fn("installedCandidates")(function* (
  home: Home,
): Effect.fn.Return<ReadonlyArray<InstalledCandidate>, PackageRefused> {
  const made = yield* Effect.forEach(yield* readLock(home.plugins), ([name, entry]) => candidateOf(home, name, entry))
  return made.filter((candidate) => candidate !== undefined)
})

const candidateOf = Effect.fnUntraced(function* (home: Home, name: string, entry: LockEntry) {
  const shown = entry.active ?? entry.pending
  if (shown === null) return undefined
  const source = { kind: "wasm", path: folderOf(home.plugins, shown.manifest), digest: shown.module } as const
  const off = reasonToBeOff(home, name, entry)
  const made = off === undefined ? yield* pluginOf(home, name, shown, entry) : { plugin: placeholder(name, shown), off }
  const mark = JSON.stringify([shown.manifest, effective(entry.grants, home.grantable), made.off, made.problem])
  return { ...made, source, mark } satisfies InstalledCandidate
})

const reasonToBeOff = (home: Home, name: string, { enabled, active, pending, grants }: LockEntry) => {
  if (!enabled) return `It is switched off: svc plugin enable ${name}`
  // no version of it ever had a say
  return active === null && pending !== null
    ? missingGrants(home, name, pending, effective(grants, home.grantable))
    : undefined
}

type Made = Pick<Candidate, "plugin" | "problem" | "off">

const pluginOf = (home: Home, name: string, active: Pinned, entry: LockEntry): Effect.Effect<Made> =>
  Effect.gen(function* () {
    const grants = effective(entry.grants, home.grantable)
    const missing = missingGrants(home, name, active, grants)
    if (missing !== undefined) return yield* refuse("conflict", missing)
    const { found, verdict } = yield* loadPinned(home, name, active)
    if (!mayRun(verdict)) return yield* refuse("signature", `${name}: ${verdict.detail}`)
    return { plugin: policyPlugin(found, grants, home.outgoing) }
  }).pipe(Effect.catch(({ message }) => Effect.succeed<Made>({ plugin: placeholder(name, active), problem: message })))

/** What it asks for and does not have, and what can be done about it; undefined where it has all. */
export const missingGrants = (
  { grantable }: Home,
  name: string,
  { permissions }: Pinned,
  grants: LockEntry["grants"],
): string | undefined => {
  const { missing } = compare(permissions, grants)
  if (missing.length === 0) return undefined
  const never = missing.filter((each) => !mayBeGranted(each, grantable))
  return never.length > 0
    ? notGrantable(name, never)
    : `${name} needs ${missing.join(", ")}: svc plugin grant ${name} ${missing.join(" ")}`
}

const placeholder = (name: string, { version, hooks }: Pinned) =>
  definePlugin({ name, version, hooks, setup: () => new PluginFailed({ message: "It was not loaded." }) })
