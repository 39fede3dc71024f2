/** `svc plugin sign`. */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { type PluginOptions, print } from "#runtime/cli/plugin/options.ts"
import { readPackage, signatureName } from "#runtime/plugin-host/packages/package.ts"
import { because } from "#runtime/plugin-host/packages/refused.ts"
import { keyId, newSigningKey, publicKeyOf, signManifest } from "#runtime/plugin-host/packages/signature.ts"
import { version } from "#runtime/version.ts"

interface SignOptions extends PluginOptions {
  readonly key: string
  readonly create?: boolean
}

export const sign = (folder: string, options: SignOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const { manifest } = yield* readPackage(folder, { version })
      if (options.create === true) yield* createKey(options.key)
      const path = join(folder, signatureName)
      const publicKey = yield* Effect.tryPromise({
        try: async () => {
          const pem = await readFile(options.key, "utf8")
          await writeFile(path, signManifest(manifest.canonical, pem))
          return publicKeyOf(pem)
        },
        catch: because("signature", `${folder} cannot be signed with ${options.key}`),
      })
      const answer = { file: path, key_id: keyId(publicKey), public_key: publicKey, manifest: manifest.digest }
      const text = [
        `Signed ${manifest.name} ${manifest.version} with key ${answer.key_id}: ${path}`,
        "Whoever installs it trusts the key once:",
        `  svc plugin trust ${publicKey} --name <owner>`,
      ].join("\n")
      yield* print(options, answer, text)
      return outcome.done
    }),
  )

/** Never over another key. */
const createKey = (path: string) =>
  Effect.tryPromise({
    try: () => writeFile(path, newSigningKey().pem, { mode: 0o600, flag: "wx" }),
    catch: because("signature", `No new key can be written to ${path}`),
  })
