/** What is said of an installed package: its state, its signature, what it was granted, and what waits. Changes nothing. */
import { Effect } from "effect"
import { missingGrants } from "#runtime/plugin-host/packages/candidates.ts"
import { effective } from "#runtime/plugin-host/packages/grantable.ts"
import type { Home } from "#runtime/plugin-host/packages/home.ts"
import { loadPinned, mayRun } from "#runtime/plugin-host/packages/installed.ts"
import { type LockEntry, type Pinned, readLock } from "#runtime/plugin-host/packages/lock-file.ts"
import type { Manifest } from "#runtime/plugin-host/packages/manifest.ts"
import { compare, namesOf, type PermissionDiff } from "#runtime/plugin-host/packages/permissions.ts"
import { type PackageRefused, refuse } from "#runtime/plugin-host/packages/refused.ts"
import type { SignatureState } from "#runtime/plugin-host/packages/trust.ts"

/**
 * - `enabled`: it runs where the service does.
 * - `needs_grant`: a version of it waits for a grant; an older one may run meanwhile.
 * - `refused`: it may not run; the problem says why.
 */
export const installedStates = ["enabled", "disabled", "needs_grant", "refused"] as const

export interface Inspection {
  readonly name: string
  readonly version: string
  readonly state: (typeof installedStates)[number]
  readonly signature: SignatureState
  readonly signature_detail: string
  /** Of the version that runs, or else of the one that waits. */
  readonly manifest: string
  readonly module: string
  readonly questions: ReadonlyArray<string>
  /** Null where the manifest cannot be read. */
  readonly mode: Manifest["mode"] | null
  readonly installed_at: string
  readonly grants: ReadonlyArray<string>
  /** What the version that waits asks for. */
  readonly pending: { readonly version: string; readonly permissions: PermissionDiff } | null
  readonly problem: string | null
}

export const inspectAll = Effect.fn("inspectAll")(function* (home: Home) {
  const lock = yield* readLock(home.plugins)
  return yield* Effect.forEach([...lock], ([name, entry]) => inspect(home, name, entry))
})

export const inspect = Effect.fn("inspect")(function* (home: Home, name: string, entry: LockEntry) {
  const shown = entry.active ?? entry.pending
  if (shown === null) return yield* refuse("state", `The lock file knows no version of ${name}.`)
  const { state: signature, detail, problem, manifest } = yield* judged(home, name, shown)
  const grants = effective(entry.grants, home.grantable)
  const needs = missingGrants(home, name, shown, grants) ?? null
  return {
    name,
    version: shown.version,
    state: stateOf(entry, problem !== null, needs !== null),
    signature,
    signature_detail: detail,
    manifest: shown.manifest,
    module: shown.module,
    questions: manifest === null ? shown.hooks : Object.keys(manifest.hooks),
    mode: manifest?.mode ?? null,
    installed_at: shown.installed_at,
    grants: namesOf(grants),
    pending:
      entry.pending === null
        ? null
        : { version: entry.pending.version, permissions: compare(entry.pending.permissions, grants) },
    problem: problem ?? needs,
  } satisfies Inspection
})

const stateOf = (entry: LockEntry, broken: boolean, needs: boolean): Inspection["state"] => {
  if (broken) return "refused"
  if (needs || entry.pending !== null) return "needs_grant"
  return entry.enabled ? "enabled" : "disabled"
}

const judged = (home: Home, name: string, pinned: Pinned) =>
  loadPinned(home, name, pinned).pipe(
    Effect.map(({ found: { manifest }, verdict }) => ({
      ...verdict,
      problem: mayRun(verdict) ? null : verdict.detail,
      manifest,
    })),
    Effect.catch((failure: PackageRefused) =>
      Effect.succeed({
        state: failure.reason === "modified" ? ("modified" as const) : ("invalid" as const),
        detail: failure.message,
        problem: failure.message,
        manifest: null,
      }),
    ),
  )
