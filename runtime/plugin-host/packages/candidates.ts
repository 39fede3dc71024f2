/**
 * What is installed, as the plugin host takes it: one candidate for each package that is enabled. One that may not run is a candidate
 * with a problem, so that it is refused with the reason, and its guards stay closed.
 */
import { Effect } from "effect"
import { definePlugin, PluginFailed } from "#core/plugin.ts"
import type { Candidate } from "#runtime/plugin-host/candidate.ts"
import { folderOf, type Home, loadPinned, mayRun } from "#runtime/plugin-host/packages/installed.ts"
import { type LockEntry, type Pinned, readLock } from "#runtime/plugin-host/packages/lock-file.ts"
import { compare, type Permissions } from "#runtime/plugin-host/packages/permissions.ts"
import { policyPlugin } from "#runtime/plugin-host/packages/policy-plugin.ts"
import { type PackageRefused, refuse } from "#runtime/plugin-host/packages/refused.ts"

/** Fails where the lock file cannot be read: nobody knows then which guards there should be. */
export const installedCandidates = Effect.fn("installedCandidates")(function* (
  home: Home,
): Effect.fn.Return<ReadonlyArray<Candidate>, PackageRefused> {
  const enabled = [...(yield* readLock(home.plugins))].filter(([, entry]) => entry.enabled)
  const made = yield* Effect.forEach(enabled, ([name, entry]) => candidateOf(home, name, entry))
  return made.filter((candidate) => candidate !== undefined)
})

/** Undefined where no version of it was ever granted what it asks for: it has never had a say. */
const candidateOf = Effect.fnUntraced(function* (home: Home, name: string, { active, grants }: LockEntry) {
  if (active === null) return undefined
  const source = { kind: "wasm", path: folderOf(home.plugins, active.manifest), digest: active.module } as const
  const candidate = yield* pluginOf(home, name, active, grants).pipe(
    Effect.map((plugin): Candidate => ({ plugin, source })),
    Effect.catch(({ message }) =>
      Effect.succeed<Candidate>({ plugin: placeholder(name, active), source, problem: message }),
    ),
  )
  return candidate
})

const pluginOf = Effect.fnUntraced(function* (home: Home, name: string, active: Pinned, grants: Permissions) {
  const { missing } = compare(active.permissions, grants)
  if (missing.length > 0) return yield* refuse("conflict", needsGrant(name, missing))
  const { found, verdict } = yield* loadPinned(home, name, active)
  if (!mayRun(verdict)) return yield* refuse("signature", `${name}: ${verdict.detail}`)
  return policyPlugin(found, grants)
})

export const needsGrant = (name: string, missing: ReadonlyArray<string>): string =>
  `${name} needs ${missing.join(", ")}: svc plugin grant ${name} ${missing.join(" ")}`

const placeholder = (name: string, { version, hooks }: Pinned) =>
  definePlugin({ name, version, hooks, setup: () => new PluginFailed({ message: "It was not loaded." }) })
