/** How a checkout fails: the disk, the program, the limits. No message names a path of the service. */
import { Effect } from "effect"
import { CheckoutFailed } from "#core/ports/checkouts.ts"
import type { GitOutput } from "#runtime/git/program.ts"

export const failed = (kind: CheckoutFailed["kind"], message: string): CheckoutFailed =>
  new CheckoutFailed({ kind, message })

/** The code of an error of the file system, such as ENOENT. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined

/** Work on the file system of this machine. An interruption waits for its end: nothing goes on behind a lock given up. */
export const onDisk = <A>(work: () => Promise<A>): Effect.Effect<A, CheckoutFailed> =>
  Effect.uninterruptible(
    Effect.tryPromise({
      try: work,
      catch: (error) =>
        failed("unavailable", `The disk did not do what the checkout needs: ${codeOf(error) ?? "unknown error"}.`),
    }),
  )

/** The output of a command that must succeed; `what` completes "Git could not …". */
export const succeeded = (run: Effect.Effect<GitOutput>, what: string): Effect.Effect<Buffer, CheckoutFailed> =>
  Effect.flatMap(run, (output) => {
    if (output.timedOut) return Effect.fail(failed("unavailable", `Git could not ${what} in time.`))
    if (output.truncated) return Effect.fail(failed("too_large", `Git could not ${what}: it is too much.`))
    if (output.code === 0) return Effect.succeed(output.stdout)
    return Effect.logDebug(`git: ${output.complaint}`).pipe(
      Effect.andThen(Effect.fail(failed("unavailable", `Git could not ${what} (exit code ${output.code}).`))),
    )
  })
