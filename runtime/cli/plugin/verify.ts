/** `svc plugin verify`: reads, does not install. */
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { homeFor, type PluginOptions, print } from "#runtime/cli/plugin/options.ts"
import { readPackage } from "#runtime/plugin-host/packages/package.ts"
import { judge, readTrust } from "#runtime/plugin-host/packages/trust.ts"

export const verify = (path: string, options: PluginOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const home = yield* homeFor(options)
      const { manifest, signature } = yield* readPackage(path, home.world)
      const verdict = judge(manifest, signature, yield* readTrust(home.plugins))
      const answer = { name: manifest.name, version: manifest.version, manifest: manifest.digest, ...verdict }
      yield* print(options, answer, `${manifest.name} ${manifest.version} is ${verdict.state}. ${verdict.detail}`)
      return verdict.state === "signed" ? outcome.done : outcome.failed
    }),
  )
