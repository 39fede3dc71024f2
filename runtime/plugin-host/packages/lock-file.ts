/**
 * `plugins.lock.json`: which packages are installed, pinned by digest, who signed them, and what each was granted. It is the only
 * say in what runs; a package whose files are not the pinned ones does not.
 */
import { readdir } from "node:fs/promises"
import { Effect, Schema } from "effect"
import { Permissions } from "#runtime/plugin-host/packages/permissions.ts"
import { lockFilePath, readText, replaceFile, storePath } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { because, type PackageRefused, refuse } from "#runtime/plugin-host/packages/refused.ts"

const Digest = Schema.String.check(Schema.isPattern(/^sha256:[0-9a-f]{64}$/))

/** One version of a package, exactly. */
export const Pinned = Schema.Struct({
  version: Schema.String,
  /** Of the canonical manifest, which names the module by digest. */
  manifest: Digest,
  module: Digest,
  /** The id of the key that signed it; null where it was accepted without a signature. */
  signer: Schema.NullOr(Schema.String),
  /** The questions in which it has a say: known also when its files are lost, so that guards stay closed. */
  hooks: Schema.Array(Schema.String),
  /** What it asks for. */
  permissions: Permissions,
  installed_at: Schema.String,
})
export type Pinned = typeof Pinned.Type

export const LockEntry = Schema.Struct({
  enabled: Schema.Boolean,
  /** What runs, where it is enabled and granted. Null: no version was ever granted what it asks for. */
  active: Schema.NullOr(Pinned),
  /** A version that waits for a grant; the active one stays until then. */
  pending: Schema.NullOr(Pinned),
  grants: Permissions,
})
export type LockEntry = typeof LockEntry.Type

const Lock = Schema.Struct({ version: Schema.Literal(1), plugins: Schema.Record(Schema.String, LockEntry) })
const LockFile = Schema.fromJsonString(Lock)

export type Installed = ReadonlyMap<string, LockEntry>

export const readLock = (plugins: string): Effect.Effect<Installed, PackageRefused> =>
  Effect.gen(function* () {
    const path = lockFilePath(plugins)
    const text = yield* readText(path)
    if (text === undefined) {
      // uninstalling leaves a file without plugins: one that is gone must not open what it guards
      if (yield* hasStored(plugins)) return yield* refuse("state", goneText(plugins))
      return new Map<string, LockEntry>()
    }
    const lock = yield* Schema.decodeEffect(LockFile)(text, { errors: "all", onExcessProperty: "error" }).pipe(
      // going on without it would leave out the guards that it names
      Effect.mapError(({ message }) => refuse("state", `${path} cannot be understood: ${message}.`)),
    )
    return new Map(Object.entries(lock.plugins))
  })

/** Of what was ever installed. */
const hasStored = (plugins: string) =>
  Effect.tryPromise({
    try: () =>
      readdir(storePath(plugins)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return []
        throw error
      }),
    catch: because("state", `${storePath(plugins)} cannot be read`),
  }).pipe(Effect.map((names) => names.some((name) => /^[0-9a-f]{64}$/.test(name))))

const goneText = (plugins: string): string =>
  `${lockFilePath(plugins)} is gone. Put it back, or remove ${storePath(plugins)} where no plugin is wanted that is stored there.`

/** Sorted by name, so that one state has one text. Call within `changing`. */
export const writeLock = (plugins: string, installed: Installed): Effect.Effect<void, PackageRefused> => {
  const sorted = [...installed].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const lock: typeof Lock.Type = { version: 1, plugins: Object.fromEntries(sorted) }
  return replaceFile(lockFilePath(plugins), `${JSON.stringify(lock, null, 2)}\n`)
}
