/** How a command ends, and the one way to run it. */
import { Cause, Effect, Exit, Option } from "effect"
import { redact } from "#core/redaction.ts"
import { SettingsInvalid } from "#runtime/settings/problem.ts"

export const outcome = { done: 0, failed: 1, usage: 2 } as const
export type Outcome = (typeof outcome)[keyof typeof outcome]

/**
 * Runs a command to its end. What it fails with is one message on standard error, without a stack where it
 * was expected; nothing that is printed holds a registered secret.
 */
export const runCommand = async <E extends { readonly message: string }>(
  command: Effect.Effect<Outcome, E>,
): Promise<Outcome> => {
  const exit = await Effect.runPromiseExit(command)
  if (Exit.isSuccess(exit)) return exit.value
  const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (failure instanceof SettingsInvalid) {
    // these messages hold no secrets, and `Auth:ApiKey: Expected …` is none
    process.stderr.write(`svc: ${failure.message}\n`)
    return outcome.usage
  }
  process.stderr.write(`svc: ${redact(failure?.message ?? `Unexpected: ${Cause.pretty(exit.cause)}`)}\n`)
  return outcome.failed
}

export const say = (text: string): Effect.Effect<void> =>
  Effect.sync(() => {
    process.stdout.write(`${text}\n`)
  })
