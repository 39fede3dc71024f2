/**
 * Where commands of agents are executed: by what this machine has to confine them, or not at all. Which that is was
 * tried out by running a command, at the first question.
 */
import { realpath } from "node:fs/promises"
import { resolve } from "node:path"
import { Duration, Effect, Layer } from "effect"
import { type Execution, Sandbox, SandboxRefused } from "#core/ports/sandbox.ts"
import { Settings } from "#core/settings.ts"
import { directly } from "#runtime/sandbox/direct.ts"
import { defaultLimits, type SandboxLimits } from "#runtime/sandbox/limits.ts"
import { probe, statusOf } from "#runtime/sandbox/probe.ts"
import { maxCommandBytes } from "#runtime/sandbox/program.ts"
import { runProgram, startProgram } from "#runtime/sandbox/start.ts"
import { shownTo } from "#runtime/sandbox/view.ts"

/** Needs `Settings`, for the folder that no command may see. */
export const sandboxLayer = Layer.effect(
  Sandbox,
  Effect.gen(function* () {
    const { Data } = yield* Settings
    const { status, run } = yield* localSandbox(Data.Directory, defaultLimits)
    return { status, run }
  }),
)

/** With other limits, and commands that outlive a call. */
export const localSandbox = Effect.fnUntraced(function* (
  dataFolder: string,
  limits: SandboxLimits,
  tools: ReadonlyArray<"bubblewrap" | "namespaces"> = ["bubblewrap", "namespaces"],
) {
  // whoever asks first may go away; the answer is for all. What went wrong is tried again by the next.
  const [asked, forget] = yield* Effect.cachedInvalidateWithTTL(Effect.uninterruptible(probe(tools)), Duration.infinity)
  const chosen = Effect.tapCause(asked, () => forget)
  const programFor = Effect.fnUntraced(function* (execution: Execution) {
    yield* check(execution)
    if (execution.direct) return directly(execution)
    const found = yield* chosen
    if (found._tag === "Nothing") return yield* refuse(found.reason)
    const hidden = yield* Effect.promise(() => realpath(dataFolder).catch(() => resolve(dataFolder)))
    const shown = yield* shownTo(execution, { machine: found.machine, dataFolder: hidden })
    return yield* Effect.promise(() => found.program(execution, shown, limits))
  })
  return {
    status: Effect.map(chosen, statusOf),
    run: Effect.fn("Sandbox.run")(function* (execution: Execution) {
      return yield* runProgram(yield* programFor(execution), execution, limits)
    }),
    /** The command runs until it ends, is killed, or the scope closes. `timeout` may be infinite. */
    start: Effect.fn("Sandbox.start")(function* (execution: Execution) {
      return yield* startProgram(yield* programFor(execution), execution, limits)
    }),
  }
})

const check = Effect.fnUntraced(function* ({ command }: Execution) {
  if (command.includes("\0")) return yield* refuse("The command contains a NUL character.")
  if (Buffer.byteLength(command) > maxCommandBytes - 1) {
    return yield* refuse(`The command is longer than ${maxCommandBytes - 1} bytes. Put it into a file.`)
  }
})

const refuse = (reason: string) => Effect.fail(new SandboxRefused({ reason }))
