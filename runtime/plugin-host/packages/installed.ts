/**
 * The plugins that are installed: what installs, grants and switches them, and what each of them is now. A change is checked whole
 * before any of it is kept. Nothing here runs a policy; a service that is running follows (follow.ts).
 */
import { DateTime, Effect } from "effect"
import { definePlugin, PluginFailed } from "#core/plugin.ts"
import { questions } from "#policies/questions.ts"
import { ownProblems } from "#runtime/plugin-host/check.ts"
import { mayBeGranted, notGrantable } from "#runtime/plugin-host/packages/grantable.ts"
import type { Home } from "#runtime/plugin-host/packages/home.ts"
import { askedBy, newest, withGrants, withoutGrants, withVersion } from "#runtime/plugin-host/packages/lock-entry.ts"
import { type LockEntry, type Pinned, readLock, writeLock } from "#runtime/plugin-host/packages/lock-file.ts"
import type { ManifestWorld } from "#runtime/plugin-host/packages/manifest.ts"
import { admitPackage, type Package, readPackage } from "#runtime/plugin-host/packages/package.ts"
import { namesOf, type PermissionName } from "#runtime/plugin-host/packages/permissions.ts"
import { changing } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { type PackageRefused, refuse } from "#runtime/plugin-host/packages/refused.ts"
import { discard, folderOf, store, storedOf } from "#runtime/plugin-host/packages/store.ts"
import { judge, readTrust, type Verdict } from "#runtime/plugin-host/packages/trust.ts"

export interface InstallOptions {
  /** Without it a package that nobody signed is refused. One with a wrong or an unknown signature always is. */
  readonly allowUnsigned?: boolean
  readonly grant?: ReadonlyArray<PermissionName> | "all"
  /** Absent: as it was, or enabled where it is new. */
  readonly enabled?: boolean
}

export interface InstallOutcome {
  readonly name: string
  readonly entry: LockEntry
  readonly verdict: Verdict
  /** What ran, or would have run, before. */
  readonly before: Pinned | null
  /** The very same package was there already. */
  readonly unchanged: boolean
}

/** Reads, judges and admits a package without keeping any of it. */
export const examine = Effect.fn("examine")(function* ({ plugins, world }: Home, path: string) {
  const found = yield* readPackage(path, world)
  const problems = reservedProblems(found, world)
  if (problems.length > 0) return yield* refuse("manifest", `${found.manifest.name}: ${problems.join(" ")}`)
  yield* admitPackage(found)
  return { found, verdict: judge(found.manifest, found.signature, yield* readTrust(plugins)) }
})

export const install = Effect.fn("install")(function* (home: Home, path: string, options: InstallOptions = {}) {
  const { found, verdict } = yield* examine(home, path)
  const { manifest } = found
  yield* requireSignature(manifest.name, verdict, options.allowUnsigned ?? false)
  const installed_at = DateTime.formatIso(yield* DateTime.now)
  const pinned: Pinned = {
    version: manifest.version,
    manifest: manifest.digest,
    module: `sha256:${manifest.sha256}`,
    signer: verdict.keyId,
    hooks: manifest.mode === "enforce" ? Object.keys(manifest.hooks) : [],
    permissions: manifest.permissions,
    installed_at,
  }
  const grant = options.grant === "all" ? namesOf(manifest.permissions) : (options.grant ?? [])
  yield* requireAsked(manifest.name, grant, namesOf(manifest.permissions))
  yield* requireGrantable(home, manifest.name, grant)
  return yield* Effect.gen(function* () {
    const lock = yield* readLock(home.plugins)
    const before = lock.get(manifest.name)
    const known = [before?.active, before?.pending].find((each) => each?.version === manifest.version)
    if (known !== undefined && known !== null && known.manifest !== manifest.digest) {
      return yield* refuse(
        "conflict",
        `${manifest.name} ${manifest.version} is installed with another content: its manifest is ${known.manifest}, ` +
          `this one ${manifest.digest}. Raise the version in plugin.json.`,
      )
    }
    // a package that is stored without a lock file is one whose lock file was lost
    if (lock.size === 0) yield* writeLock(home.plugins, lock)
    yield* store(home, found)
    // asked for again it stays the version that it was, with whoever signed it now
    const version = known === undefined || known === null ? pinned : { ...known, signer: pinned.signer }
    const entry = withVersion(before, version, { grant, enabled: options.enabled })
    yield* writeLock(home.plugins, new Map([...lock, [manifest.name, entry]]))
    const unchanged = before !== undefined && JSON.stringify(entry) === JSON.stringify(before)
    const outcome: InstallOutcome = { name: manifest.name, entry, verdict, before: before?.active ?? null, unchanged }
    return outcome
  }).pipe(changing(home.plugins))
})

export const setEnabled = (home: Home, name: string, enabled: boolean) =>
  change(home, name, (entry) => Effect.succeed({ ...entry, enabled }))

/** `names` empty: all that it asks for. */
export const grant = (home: Home, name: string, names: ReadonlyArray<PermissionName>) =>
  change(home, name, (entry) => {
    const asked = namesOf(newest(entry)?.permissions ?? askedBy(entry))
    const wanted = names.length === 0 ? asked : names
    return requireAsked(name, wanted, asked).pipe(
      Effect.andThen(requireGrantable(home, name, wanted)),
      Effect.as(withGrants(entry, wanted)),
    )
  })

/** `names` empty: all that it has. */
export const revoke = (home: Home, name: string, names: ReadonlyArray<PermissionName>) =>
  change(home, name, (entry) => {
    const given = namesOf(entry.grants)
    const wanted = names.length === 0 ? given : names
    const unknown = wanted.filter((each) => !given.includes(each))
    return unknown.length === 0
      ? Effect.succeed(withoutGrants(entry, wanted))
      : refuse("unknown", `${name} was not granted ${unknown.join(", ")}. It has: ${listed(given)}.`)
  })

/** Forgets it, its grants and its packages, also those of earlier versions. */
export const uninstall = Effect.fn("uninstall")(function* (home: Home, name: string) {
  const { plugins } = home
  return yield* Effect.gen(function* () {
    const lock = yield* readLock(plugins)
    const entry = lock.get(name)
    if (entry === undefined) return yield* notInstalled(name)
    yield* writeLock(plugins, new Map([...lock].filter(([other]) => other !== name)))
    const pinned = [entry.active, entry.pending].flatMap((each) => (each === null ? [] : [each.manifest]))
    const stored = (yield* storedOf(home, name)).map(({ manifest }) => manifest.digest)
    for (const digest of new Set([...pinned, ...stored])) yield* discard(plugins, digest)
    return entry
  }).pipe(changing(plugins))
})

export const entryNamed = Effect.fnUntraced(function* (home: Home, name: string) {
  const entry = (yield* readLock(home.plugins)).get(name)
  return entry ?? (yield* notInstalled(name))
})

/** The pinned package from the store, unless it may not run: then why. */
export const loadPinned = Effect.fn("loadPinned")(function* (home: Home, name: string, pinned: Pinned) {
  const found = yield* readPackage(folderOf(home.plugins, pinned.manifest), home.world)
  const { manifest } = found
  if (manifest.digest !== pinned.manifest || manifest.name !== name) {
    return yield* refuse(
      "modified",
      `${name}: the stored manifest is not the installed one. Its digest is ${manifest.digest}; installed was ${pinned.manifest}.`,
    )
  }
  const verdict = judge(manifest, found.signature, yield* readTrust(home.plugins))
  return { found, verdict: pinnedVerdict(pinned, verdict) }
})

/** May a package with this verdict run? A missing signature is in order only where it was accepted so. */
export const mayRun = ({ state }: Verdict): boolean => state === "signed" || state === "unsigned" || state === "core"

const pinnedVerdict = (pinned: Pinned, verdict: Verdict): Verdict =>
  verdict.state === "unsigned" && pinned.signer !== null
    ? { state: "modified", keyId: pinned.signer, detail: `The signature of key ${pinned.signer} was taken away.` }
    : verdict

const change = (
  { plugins }: Home,
  name: string,
  decide: (entry: LockEntry) => Effect.Effect<LockEntry, PackageRefused>,
): Effect.Effect<LockEntry, PackageRefused> =>
  Effect.gen(function* () {
    const lock = yield* readLock(plugins)
    const before = lock.get(name)
    if (before === undefined) return yield* notInstalled(name)
    const entry = yield* decide(before)
    yield* writeLock(plugins, new Map([...lock, [name, entry]]))
    return entry
  }).pipe(changing(plugins))

const notInstalled = (name: string) =>
  refuse("unknown", `No plugin ${name} is installed. svc plugin list shows those that are.`)

const requireSignature = (name: string, { state, detail }: Verdict, allowUnsigned: boolean) => {
  switch (state) {
    case "core":
    case "signed":
      return Effect.void
    case "unsigned":
      return allowUnsigned
        ? Effect.void
        : refuse(
            "signature",
            `${name} is not signed. Sign it (svc plugin sign), or accept it as it is: svc plugin install --allow-unsigned`,
          )
    case "invalid":
    case "modified":
    case "revoked":
      return refuse("signature", `${name}: ${detail}`)
  }
}

const requireAsked = (name: string, wanted: ReadonlyArray<PermissionName>, asked: ReadonlyArray<PermissionName>) => {
  const unknown = wanted.filter((each) => !asked.includes(each))
  return unknown.length === 0
    ? Effect.void
    : refuse("unknown", `${name} does not ask for ${unknown.join(", ")}. It asks for: ${listed(asked)}.`)
}

const requireGrantable = ({ grantable }: Home, name: string, wanted: ReadonlyArray<PermissionName>) => {
  const never = wanted.filter((each) => !mayBeGranted(each, grantable))
  return never.length === 0 ? Effect.void : refuse("unknown", notGrantable(name, never))
}

const listed = (names: ReadonlyArray<string>): string => (names.length === 0 ? "nothing" : names.join(", "))

/** Names that stand for the service, and whatever else the host would refuse at the start. */
const reservedProblems = ({ manifest }: Package, { version }: ManifestWorld): ReadonlyArray<string> => {
  const plugin = definePlugin({
    name: manifest.name,
    version: manifest.version,
    engine: manifest.engine,
    hooks: Object.keys(manifest.hooks),
    setup: () => new PluginFailed({ message: "It is only looked at." }),
  })
  const source = { kind: "wasm", path: "", digest: manifest.sha256 } as const
  return ownProblems({ plugin, source }, { version, questions, coreEvents: [] })
}
