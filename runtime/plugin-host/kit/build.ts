/**
 * Builds a policy: generated types, module, and the module's digest in plugin.json. The same sources and the same version of svc give
 * the same bytes. What comes out was admitted as it would be at install.
 */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Option, Schema } from "effect"
import { ioCallsOf } from "#runtime/plugin-host/io/grants.ts"
import { compileAssemblyScript } from "#runtime/plugin-host/kit/assemblyscript/compile.ts"
import { type KitFailed, kitFailed, whileDoing } from "#runtime/plugin-host/kit/failed.ts"
import {
  entryOf,
  ioLibraryFile,
  isObject,
  jsonLibrary,
  openFolder,
  type PolicyFolder,
  typesOf,
  writeText,
} from "#runtime/plugin-host/kit/folder.ts"
import { typesInAssemblyScript } from "#runtime/plugin-host/kit/question/assembly-script.ts"
import { typesInTypeScript } from "#runtime/plugin-host/kit/question/typescript.ts"
import { checkTypes, compileTypeScript } from "#runtime/plugin-host/kit/typescript/compile.ts"
import type { ManifestWorld } from "#runtime/plugin-host/packages/manifest.ts"
import { entryForm } from "#runtime/plugin-host/packages/manifest-schema.ts"
import { admitPackage, manifestName, type Package, readPackage } from "#runtime/plugin-host/packages/package.ts"
import { noPermissions, Permissions } from "#runtime/plugin-host/packages/permissions.ts"
import { type Admitted, sha256Of } from "#runtime/plugin-host/wasm/admission.ts"
import type { IoCall } from "#runtime/plugin-host/wasm/io-request.ts"
import { version } from "#runtime/version.ts"

export interface Built {
  readonly found: Package
  readonly admitted: Admitted
}

const library = new URL("assemblyscript/json.as.txt", import.meta.url)
const ioLibrary = new URL("assemblyscript/io.as.txt", import.meta.url)

export const buildPolicy = Effect.fn("buildPolicy")(function* (path: string): Effect.fn.Return<Built, KitFailed> {
  const folder = yield* openFolder(path)
  const entry = svcPart(folder).entry
  if (typeof entry !== "string" || !entryForm.test(entry)) {
    return yield* kitFailed(`${manifestName}: extensions.svc.entry: Expected a file beside it: ./policy.wasm`)
  }
  yield* writeTypes(folder)
  const wasm = yield* compile(folder)
  yield* writeText(join(path, entry), wasm)
  yield* writeText(join(path, manifestName), yield* withDigest(path, sha256Of(wasm)))
  return yield* openBuilt(path)
})

/** What was built before: refused where plugin.json and module do not belong together, or where it would not be installed. */
export const openBuilt = (path: string, world: ManifestWorld = { version }): Effect.Effect<Built, KitFailed> =>
  Effect.gen(function* () {
    const found = yield* readPackage(path, world)
    return { found, admitted: yield* admitPackage(found) }
  }).pipe(Effect.mapError(({ message }) => kitFailed(message)))

/** The types of the first question: a policy that answers several imports the others from files of its own. */
export const writeTypes = Effect.fnUntraced(function* ({
  path,
  language,
  hooks,
  manifest,
}: Pick<PolicyFolder, "path" | "language" | "hooks"> & Partial<Pick<PolicyFolder, "manifest">>) {
  const [first] = hooks
  if (first === undefined) return
  const io = manifest === undefined ? [] : ioCallsIn({ manifest })
  const types = language === "ts" ? typesInTypeScript(first.question, io) : typesInAssemblyScript(first.question)
  yield* writeText(join(path, typesOf[language]), types)
  if (language === "ts") return
  yield* copyLibrary(library, join(path, jsonLibrary))
  if (io.length > 0) yield* copyLibrary(ioLibrary, join(path, ioLibraryFile))
})

const copyLibrary = Effect.fnUntraced(function* (from: URL, to: string) {
  const text = yield* Effect.tryPromise({ try: () => readFile(from), catch: whileDoing("The kit is damaged") })
  yield* writeText(to, text)
})

const compile = Effect.fnUntraced(function* ({ path, language, hooks, manifest }: PolicyFolder) {
  const functions = [...new Set(hooks.map((hook) => hook.function))]
  if (language === "as") return yield* compileAssemblyScript(path, entryOf.as)
  // side by side: the compiler is a process of its own
  const compiling = compileTypeScript(path, entryOf.ts, functions, ioCallsIn({ manifest }))
  const [wasm] = yield* Effect.all([compiling, checkTypes(path)], { concurrency: 2 })
  return wasm
})

/** What it asks for; nothing where that is not readable, which is told when the package is read. */
const ioCallsIn = (folder: Pick<PolicyFolder, "manifest">): ReadonlyArray<IoCall> =>
  ioCallsOf(Option.getOrElse(decodePermissions(svcPart(folder).permissions), () => noPermissions))

const decodePermissions = Schema.decodeUnknownOption(Permissions)

/** Of a manifest that `openFolder` read. */
const svcPart = ({ manifest }: Pick<PolicyFolder, "manifest">): Readonly<Record<string, unknown>> => {
  const { extensions } = manifest
  return isObject(extensions) && isObject(extensions.svc) ? extensions.svc : {}
}

const digestMember = /("sha256"\s*:\s*)"[^"]*"/g

/** Everything else stays as the author wrote it. */
const withDigest = Effect.fnUntraced(function* (path: string, sha256: string) {
  const file = join(path, manifestName)
  const text = yield* Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: whileDoing(`${file} cannot be read`),
  })
  const found = text.match(digestMember)?.length ?? 0
  if (found !== 1)
    return yield* kitFailed(`${file}: expected one member "sha256", for the build to write, found ${found}.`)
  return text.replace(digestMember, `$1"${sha256}"`)
})
