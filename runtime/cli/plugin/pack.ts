/** `svc plugin pack`. */
import { readFile, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Effect, Schema } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { type PluginOptions, print } from "#runtime/cli/plugin/options.ts"
import { writeArchive } from "#runtime/plugin-host/packages/archive.ts"
import { manifestName, readPackage, readPlainFile } from "#runtime/plugin-host/packages/package.ts"
import { because } from "#runtime/plugin-host/packages/refused.ts"
import { sha256Of } from "#runtime/plugin-host/wasm/admission.ts"
import { defaultLimits } from "#runtime/plugin-host/wasm/limits.ts"
import { version } from "#runtime/version.ts"

interface PackOptions extends PluginOptions {
  readonly output?: string
  readonly writeDigest?: boolean
}

export const pack = (folder: string, options: PackOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      if (options.writeDigest === true) yield* writeDigest(folder)
      const { manifest, files } = yield* readPackage(folder, { version })
      const output = resolve(options.output ?? `${manifest.name}-${manifest.version}.zip`)
      const archive = yield* writeArchive(files)
      yield* Effect.tryPromise({
        try: () => writeFile(output, archive),
        catch: because("unreadable", `${output} cannot be written`),
      })
      const answer = {
        file: output,
        bytes: archive.length,
        manifest: manifest.digest,
        module: `sha256:${manifest.sha256}`,
      }
      yield* print(options, answer, `Wrote ${output} (${archive.length} bytes).`)
      return outcome.done
    }),
  )

/** As much of a manifest as is needed to find the module; the rest is kept as it is. */
const Unfinished = Schema.Struct({
  extensions: Schema.Struct({ svc: Schema.Struct({ entry: Schema.String.check(Schema.isPattern(/^\.\/[\w.-]+$/)) }) }),
})

const writeDigest = Effect.fnUntraced(function* (folder: string) {
  const path = join(folder, manifestName)
  const failed = because("manifest", `The digest cannot be written into ${path}`)
  const text = yield* Effect.tryPromise({ try: () => readFile(path, "utf8"), catch: failed })
  const written: { extensions: { svc: { sha256: unknown } } } = yield* Effect.try({
    try: () => JSON.parse(text),
    catch: failed,
  })
  const { extensions } = yield* Effect.mapError(Schema.decodeUnknownEffect(Unfinished)(written), failed)
  const wasm = yield* readPlainFile(join(folder, extensions.svc.entry), defaultLimits.moduleBytes)
  written.extensions.svc.sha256 = sha256Of(wasm)
  yield* Effect.tryPromise({ try: () => writeFile(path, `${JSON.stringify(written, null, 2)}\n`), catch: failed })
})
