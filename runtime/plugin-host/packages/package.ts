/**
 * A package: the manifest, the module that it names by digest, and perhaps a signature. Read from a folder or an archive, once,
 * into memory: everything is checked on the bytes that are used afterwards.
 */
import { constants } from "node:fs"
import { type FileHandle, open, readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Result } from "effect"
import { grantsFor } from "#runtime/plugin-host/io/grants.ts"
import { maxArchiveBytes, type PackageFiles, readArchive } from "#runtime/plugin-host/packages/archive.ts"
import { moduleLimits } from "#runtime/plugin-host/packages/budget.ts"
import {
  type Manifest,
  type ManifestWorld,
  maxManifestBytes,
  readManifest,
} from "#runtime/plugin-host/packages/manifest.ts"
import { because, PackageRefused, refuse } from "#runtime/plugin-host/packages/refused.ts"
import { maxSignatureBytes } from "#runtime/plugin-host/packages/signature.ts"
import { type Admitted, admit, sha256Of } from "#runtime/plugin-host/wasm/admission.ts"
import type { Grants } from "#runtime/plugin-host/wasm/grants.ts"
import { defaultLimits } from "#runtime/plugin-host/wasm/limits.ts"

export const manifestName = "plugin.json"
export const signatureName = "plugin.sig"

export interface Package {
  readonly manifest: Manifest
  readonly wasm: Uint8Array
  readonly signature: Uint8Array | undefined
  /** These three as they were read, and nothing else: what is stored and packed. */
  readonly files: PackageFiles
}

/** From a folder, or from an archive that `svc plugin pack` wrote. */
export const readPackage = Effect.fn("readPackage")(function* (path: string, world: ManifestWorld) {
  const found = yield* Effect.tryPromise({
    try: () => stat(path),
    catch: because("unreadable", `${path} cannot be read`),
  })
  const files = found.isDirectory()
    ? yield* readFolder(path, world)
    : yield* Effect.flatMap(readPlainFile(path, maxArchiveBytes), (bytes) =>
        Effect.mapError(readArchive(bytes), ({ reason, message }) => refuse(reason, `${path}: ${message}`)),
      )
  return yield* packageOf(files, world)
})

export const packageOf = Effect.fnUntraced(function* (files: PackageFiles, world: ManifestWorld) {
  const manifest = yield* manifestOf(files, world)
  const wasm = files.get(moduleName(manifest))
  if (wasm === undefined) return yield* refuse("unreadable", `The module ${manifest.entry} is not there.`)
  const actual = sha256Of(wasm)
  if (actual !== manifest.sha256) {
    return yield* refuse(
      "modified",
      `${manifest.name}: the module ${manifest.entry} is not the one that the manifest names. ` +
        `Its SHA-256 is ${actual}; the manifest says ${manifest.sha256}.`,
    )
  }
  const signature = files.get(signatureName)
  // nobody signed what else is in an archive
  const named = new Set([manifestName, moduleName(manifest), signatureName])
  const kept = new Map([...files].filter(([name]) => named.has(name)))
  return { manifest, wasm, signature, files: kept } satisfies Package
})

/** Of the entry `./policy.wasm`: `policy.wasm`. */
const moduleName = ({ entry }: Manifest): string => entry.slice("./".length)

export const manifestOf = (files: PackageFiles, world: ManifestWorld): Effect.Effect<Manifest, PackageRefused> => {
  const bytes = files.get(manifestName)
  if (bytes === undefined) return refuse("unreadable", `There is no ${manifestName}.`)
  const manifest = readManifest(bytes, world)
  if (Result.isSuccess(manifest)) return Effect.succeed(manifest.success)
  const issues = manifest.failure
  const lines = issues.map(({ path, message }) => `${path === "" ? "" : `${path}: `}${message}.`)
  return new PackageRefused({ reason: "manifest", message: `${manifestName} is not valid. ${lines.join(" ")}`, issues })
}

/** The manifest, the module that it names, and the signature; whatever else lies in the folder stays out of it. */
const readFolder = Effect.fnUntraced(function* (folder: string, world: ManifestWorld) {
  const manifest = yield* readPlainFile(join(folder, manifestName), maxManifestBytes)
  const files = new Map([[manifestName, manifest]])
  const found = yield* manifestOf(files, world)
  files.set(moduleName(found), yield* readPlainFile(join(folder, found.entry), defaultLimits.moduleBytes))
  const names = yield* Effect.tryPromise({
    try: () => readdir(folder),
    catch: because("unreadable", `${folder} cannot be read`),
  })
  if (names.includes(signatureName)) {
    files.set(signatureName, yield* readPlainFile(join(folder, signatureName), maxSignatureBytes))
  }
  return files
})

/** No symbolic link, device or pipe; and never more than `most` bytes. */
export const readPlainFile = (path: string, most: number) =>
  Effect.tryPromise({
    try: async () => {
      const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
      try {
        const found = await file.stat()
        if (!found.isFile()) throw new Error("it is not a plain file")
        if (found.size > most) throw new Error(`it has ${found.size} bytes, at most ${most} are allowed`)
        return await readWhole(file, found.size)
      } finally {
        await file.close()
      }
    },
    catch: because("unreadable", `${path} cannot be read`),
  })

/** So many bytes and no more: a file that changes while it is read is an error. */
const readWhole = async (file: FileHandle, size: number): Promise<Uint8Array> => {
  const bytes = new Uint8Array(size + 1)
  let read = 0
  while (read <= size) {
    const { bytesRead } = await file.read(bytes, read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  if (read !== size) throw new Error("it was changed while it was read")
  return bytes.subarray(0, size)
}

/** Checks the module as it will be run: what it imports, what it exports, how large it is. */
export const admitPackage = Effect.fn("admitPackage")(function* (
  { manifest, wasm }: Pick<Package, "manifest" | "wasm">,
  granted: Grants = grantsFor(manifest.permissions),
): Effect.fn.Return<Admitted, PackageRefused> {
  const admitted = yield* Effect.mapError(admit(wasm, moduleLimits(manifest.limits), granted), (refusal) =>
    refuse("module", `${manifest.name}: ${refusal.message} The module has the SHA-256 ${manifest.sha256}.`),
  )
  const missing = Object.entries(manifest.hooks).filter(
    ([, name]) => !admitted.exports.some((exported) => exported.name === name && exported.type?.params.length === 0),
  )
  if (missing.length > 0) {
    const list = missing.map(([question, name]) => `${name} for ${question}`).join(", ")
    return yield* refuse(
      "module",
      `${manifest.name}: the module exports no function without parameters called ${list}.`,
    )
  }
  return admitted
})
