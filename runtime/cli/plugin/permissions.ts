/** `svc plugin grant` and `svc plugin revoke`. */
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { atOnce, homeFor, listed, type PluginOptions, print } from "#runtime/cli/plugin/options.ts"
import { grant as grantTo, revoke as revokeFrom } from "#runtime/plugin-host/packages/installed.ts"
import type { LockEntry } from "#runtime/plugin-host/packages/lock-file.ts"
import { namesOf } from "#runtime/plugin-host/packages/permissions.ts"

export const grant = (name: string, names: ReadonlyArray<string>, options: PluginOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      yield* tell(name, yield* grantTo(yield* homeFor(options), name, names), options)
      return outcome.done
    }),
  )

export const revoke = (name: string, names: ReadonlyArray<string>, options: PluginOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      yield* tell(name, yield* revokeFrom(yield* homeFor(options), name, names), options)
      return outcome.done
    }),
  )

const tell = (name: string, { active, pending, grants }: LockEntry, options: PluginOptions) => {
  const granted = namesOf(grants)
  const answer = { name, active: active?.version ?? null, pending: pending?.version ?? null, grants: granted }
  const waits = pending === null ? "" : ` Version ${pending.version} still waits: svc plugin inspect ${name}.`
  return print(options, answer, `${name} is granted ${listed(granted)}.${waits} ${atOnce}`)
}
