/** `svc plugin build`. */
import { resolve } from "node:path"
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { print } from "#runtime/cli/plugin/options.ts"
import { buildPolicy } from "#runtime/plugin-host/kit/build.ts"

export const build = (folder = ".", options: { readonly json?: boolean } = {}): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const { found } = yield* buildPolicy(resolve(folder))
      const { name, version, entry, sha256 } = found.manifest
      const built = { name, version, entry, module_bytes: found.wasm.length, sha256 }
      yield* print(
        options,
        built,
        `Built ${name} ${version}: ${entry}, ${built.module_bytes.toLocaleString("en")} bytes, sha256:${sha256}`,
      )
      return outcome.done
    }),
  )
