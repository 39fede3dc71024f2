/** `svc plugin trust`. */
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { atOnce, homeFor, type PluginOptions, print } from "#runtime/cli/plugin/options.ts"
import { keyId } from "#runtime/plugin-host/packages/signature.ts"
import { revokeKey, trustKey } from "#runtime/plugin-host/packages/trust.ts"

interface TrustOptions extends PluginOptions {
  readonly name: string
  readonly revoke?: boolean
}

export const trust = (key: string, options: TrustOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const { plugins } = yield* homeFor(options)
      if (options.revoke === true) {
        yield* revokeKey(plugins, key)
        yield* print(options, { key, revoked: true }, `What ${key} signed does not run any more. ${atOnce}`)
        return outcome.done
      }
      yield* trustKey(plugins, key, options.name)
      const id = keyId(key)
      yield* print(
        options,
        { key_id: id, name: options.name, trusted: true },
        `Key ${id} (${options.name}) is trusted.`,
      )
      return outcome.done
    }),
  )
