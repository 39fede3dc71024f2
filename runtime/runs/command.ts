/** A command of an agent, run in the sandbox: its output decoded, redacted and capped before anybody sees it. */
import { Deferred, Duration, Effect, Fiber } from "effect"
import type { Checkout } from "#core/ports/checkouts.ts"
import { Sandbox } from "#core/ports/sandbox.ts"
import { redactingStream } from "#core/redaction.ts"
import type { SandboxPolicy } from "#core/sandbox-policy/policy.ts"
import { rootsOf } from "#core/sandbox-policy/roots.ts"
import { Settings } from "#core/settings.ts"
import { CommandRefused, type CommandResult, type CommandRun, type TurnInterrupted } from "#core/wire/turn.ts"

/** How often a command that takes long says that it is still there. */
const beat = Duration.seconds(20)

/** Decodes, redacts and keeps one stream of output. */
const makeOutput = (personal: boolean) => {
  const decoder = new TextDecoder()
  const clean = redactingStream({ personal })
  let text = ""
  const keep = (shown: string): string => {
    text += shown
    return shown
  }
  return {
    push: (chunk: Uint8Array) => keep(clean.push(decoder.decode(chunk, { stream: true }))),
    end: () => keep(clean.push(decoder.decode()) + clean.end()),
    text: () => text,
  }
}

export const runInSandbox = Effect.fn("runs.command")(function* (
  checkout: Checkout,
  policy: SandboxPolicy,
  run: CommandRun,
) {
  const sandbox = yield* Sandbox
  const { AllowedRepositoryRoots } = (yield* Settings).Runs
  const roots = yield* rootsOf(policy, checkout.repository, AllowedRepositoryRoots)
  const output = { stdout: makeOutput(policy.redactPii), stderr: makeOutput(policy.redactPii) }
  // who listens may have to stop the command: the run was cancelled, or its lease is lost
  const stopped = yield* Deferred.make<never, TurnInterrupted>()
  const tell = (stream: "stdout" | "stderr", text: string) =>
    text === ""
      ? Effect.void
      : run.onOutput(stream, text).pipe(
          Effect.catchTag("TurnInterrupted", (interrupted) => Deferred.fail(stopped, interrupted)),
          Effect.asVoid,
        )
  const executing = sandbox
    .run({
      command: run.command,
      workingDirectory: checkout.path,
      mounts: [...checkout.mounts, ...roots.paths.map((path) => ({ path, writable: false }))],
      network: policy.networkEnabled,
      direct: policy.direct,
      timeout: run.timeout,
      maxOutputBytes: policy.maxOutputBytes,
      environment: {},
      onOutput: (stream, chunk) => tell(stream, output[stream].push(chunk)),
    })
    .pipe(Effect.mapError(({ reason }) => new CommandRefused({ reason })))
  const startedAt = performance.now()
  const beating = Effect.sleep(beat).pipe(
    Effect.andThen(Effect.suspend(() => run.onWait(Math.round((performance.now() - startedAt) / 1_000)))),
    Effect.catchTag("TurnInterrupted", (interrupted) => Deferred.fail(stopped, interrupted)),
    Effect.forever,
  )
  const heart = yield* Effect.forkChild(beating)
  const executed = yield* Effect.raceFirst(executing, Deferred.await(stopped)).pipe(
    Effect.ensuring(Fiber.interrupt(heart)),
  )
  yield* tell("stdout", output.stdout.end())
  yield* tell("stderr", output.stderr.end())
  return {
    exitCode: executed.exitCode,
    timedOut: executed.timedOut,
    outputTruncated: executed.outputTruncated,
    stdout: output.stdout.text(),
    stderr: output.stderr.text(),
  } satisfies CommandResult
})
