/** `svc plugin validate`: what would be refused when it is installed, all of it that can be seen at once. */
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { homeFor, listed, type PluginOptions, print, unasked } from "#runtime/cli/plugin/options.ts"
import { examine } from "#runtime/plugin-host/packages/installed.ts"
import { namesOf } from "#runtime/plugin-host/packages/permissions.ts"
import type { PackageRefused } from "#runtime/plugin-host/packages/refused.ts"

export const validate = (path: string, options: PluginOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const home = yield* homeFor(options)
      return yield* examine(home, path).pipe(
        Effect.matchEffect({
          onFailure: (refusal) => Effect.as(print(options, problemsOf(refusal), textOf(path, refusal)), outcome.failed),
          onSuccess: ({ found: { manifest, wasm }, verdict }) => {
            const answer = {
              valid: true,
              name: manifest.name,
              version: manifest.version,
              questions: Object.keys(manifest.hooks),
              permissions: namesOf(manifest.permissions),
              signature: verdict,
              module_bytes: wasm.length,
            }
            const text = [
              `${manifest.name} ${manifest.version} is valid.`,
              `  answers    ${listed(answer.questions)}`,
              `  asks for   ${listed(answer.permissions)}`,
              `  signature  ${verdict.state}: ${verdict.detail}`,
              `  module     ${wasm.length} bytes, sha256:${manifest.sha256}`,
              ...unasked(answer.questions),
            ].join("\n")
            return Effect.as(print(options, answer, text), outcome.done)
          },
        }),
      )
    }),
  )

const problemsOf = ({ reason, message, issues }: PackageRefused) => ({
  valid: false,
  reason,
  problems: issues ?? [{ path: "", message }],
})

const textOf = (path: string, { message, issues }: PackageRefused): string =>
  issues === undefined
    ? message
    : [`${path} is not valid:`, ...issues.map((issue) => `  ${issue.path || "plugin.json"}: ${issue.message}`)].join(
        "\n",
      )
