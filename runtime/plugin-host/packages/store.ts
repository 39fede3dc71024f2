/** The packages themselves, one folder each, named by the digest of its manifest: complete, or not there. */
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Option } from "effect"
import type { Home } from "#runtime/plugin-host/packages/home.ts"
import { type Package, readPackage } from "#runtime/plugin-host/packages/package.ts"
import { storePath, syncFolder } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { because } from "#runtime/plugin-host/packages/refused.ts"

/** `manifest`: its digest, with `sha256:` before it. */
export const folderOf = (plugins: string, manifest: string): string =>
  join(storePath(plugins), manifest.slice("sha256:".length))

/** A folder that is whole is left alone: a service may be reading it. */
export const store = Effect.fnUntraced(function* ({ plugins, world }: Home, { manifest, signature, files }: Package) {
  const folder = folderOf(plugins, manifest.digest)
  const stored = yield* Effect.option(readPackage(folder, world))
  const whole =
    Option.isSome(stored) &&
    stored.value.manifest.digest === manifest.digest &&
    sameSignature(stored.value.signature, signature)
  if (whole) return
  yield* Effect.tryPromise({
    try: async () => {
      const beside = `${folder}.${crypto.randomUUID()}`
      await mkdir(beside, { recursive: true, mode: 0o700 })
      try {
        for (const [name, bytes] of files) await writeFile(join(beside, name), bytes, { mode: 0o600, flush: true })
        await rm(folder, { recursive: true, force: true })
        await rename(beside, folder)
      } finally {
        await rm(beside, { recursive: true, force: true })
      }
      await syncFolder(storePath(plugins))
    },
    catch: because("state", "The package cannot be stored"),
  })
})

/** Every package of a plugin that is there whole, also of versions that were replaced. */
export const storedOf = Effect.fnUntraced(function* ({ plugins, world }: Home, name: string) {
  const folders = yield* Effect.tryPromise(() => readdir(storePath(plugins))).pipe(Effect.orElseSucceed(() => []))
  const read = (folder: string) => Effect.option(readPackage(join(storePath(plugins), folder), world))
  const stored = yield* Effect.forEach(folders.toSorted(), read)
  return stored.flatMap((found) => (Option.isSome(found) && found.value.manifest.name === name ? [found.value] : []))
})

/** What a service has loaded of it goes on. */
export const discard = (plugins: string, manifest: string) =>
  Effect.tryPromise({
    try: () => rm(folderOf(plugins, manifest), { recursive: true, force: true }),
    catch: because("state", "The package cannot be removed"),
  })

const sameSignature = (one: Uint8Array | undefined, other: Uint8Array | undefined): boolean =>
  one === undefined || other === undefined ? one === other : Buffer.from(one).equals(other)
