/** Starts a program for a command, and runs one to its end: the same for every way of confining it. */
import { Duration, Effect, Fiber, type Scope } from "effect"
import { type Executed, type Execution, SandboxRefused } from "#core/ports/sandbox.ts"
import { type Child, startChild } from "#runtime/sandbox/child.ts"
import { overuse } from "#runtime/sandbox/guard.ts"
import type { SandboxLimits } from "#runtime/sandbox/limits.ts"
import { chunksOf, outputTo } from "#runtime/sandbox/output.ts"
import type { Program } from "#runtime/sandbox/program.ts"

/** A command that runs. It ends with its scope, and everything it started too. */
export interface Started {
  /** Of the program that confines it, outside. */
  readonly pid: number
  /** When it has ended, with all its output passed on. */
  readonly ended: Effect.Effect<Executed>
  /** Ends it; `ended` then says -1. */
  readonly kill: Effect.Effect<void>
}

/** How long it may take until the command begins, on a machine that has much to do. */
const patience = Duration.seconds(30)
/** How long the output is waited for of what a command left behind that nothing confined. */
const leftBehind = Duration.seconds(1)
/** What the script says last, before the command begins. */
const begun = "ready\n"
/** Bytes of complaints that are kept. */
const maxComplaint = 4_096

export const startProgram = Effect.fnUntraced(function* (
  program: Program,
  execution: Pick<Execution, "timeout" | "maxOutputBytes" | "onOutput" | "workingDirectory">,
  limits: SandboxLimits,
): Effect.fn.Return<Started, SandboxRefused, Scope.Scope> {
  const child = yield* startChild(program)
  if (program.saysReady) yield* ready(child)
  let cut: "killed" | "out of time" | "overuse" | undefined
  let overused = ""
  const end = (why: NonNullable<typeof cut>) =>
    Effect.promise(async () => {
      if (child.hasEnded()) return
      cut ??= why
      await child.kill()
    })
  const watch = yield* Effect.forkScoped(
    Effect.all(
      [
        Duration.isFinite(execution.timeout)
          ? Effect.andThen(Effect.sleep(execution.timeout), end("out of time"))
          : Effect.void,
        overuse(child.pid, execution.workingDirectory, limits).pipe(
          Effect.tap((what) => Effect.sync(() => (overused = what))),
          Effect.andThen(end("overuse")),
        ),
      ],
      { concurrency: "unbounded" },
    ),
  )
  const output = outputTo(execution)
  const passed = Effect.all([output.pass("stdout", child.stdout), output.pass("stderr", child.stderr)], {
    concurrency: "unbounded",
  })
  const exited = Effect.promise(() => child.exited)
  const running = yield* Effect.gen(function* () {
    yield* program.saysReady ? passed : Effect.raceFirst(passed, Effect.andThen(exited, Effect.sleep(leftBehind)))
    const code = yield* exited
    yield* Fiber.interrupt(watch)
    if (cut === "overuse") {
      yield* execution.onOutput("stderr", new TextEncoder().encode(`\nThe command was ended: ${overused}.\n`))
    }
    return {
      exitCode: cut === undefined ? code : -1,
      timedOut: cut === "out of time",
      outputTruncated: output.isTruncated(),
    }
  }).pipe(Effect.forkScoped)
  return { pid: child.pid, ended: Fiber.join(running), kill: end("killed") }
})

/** The program to its end. Interrupting it ends everything that was started. */
export const runProgram = (
  program: Program,
  execution: Pick<Execution, "timeout" | "maxOutputBytes" | "onOutput" | "workingDirectory">,
  limits: SandboxLimits,
): Effect.Effect<Executed, SandboxRefused> =>
  Effect.scoped(Effect.flatMap(startProgram(program, execution, limits), ({ ended }) => ended))

/** The details are for the log: they may name folders of the service. */
const ready = Effect.fnUntraced(function* ({ notices }: Child) {
  const said = yield* wordsOf(notices).pipe(Effect.timeoutOption(patience))
  if (said._tag === "Some" && said.value.endsWith(begun)) return
  yield* Effect.logWarning("a sandbox was not set up").pipe(
    Effect.annotateLogs({ complaint: said._tag === "Some" ? said.value.trim() : "it took too long" }),
  )
  return yield* new SandboxRefused({ reason: "The sandbox could not be set up." })
})

/** Up to the word that it is ready, or the end: the program that waits outside keeps the descriptor. */
const wordsOf = Effect.fnUntraced(function* (notices: Child["notices"]) {
  const next = chunksOf(notices)
  let words = ""
  for (let chunk = yield* next; chunk !== undefined; chunk = yield* next) {
    words = `${words}${Buffer.from(chunk).toString("utf8")}`.slice(-maxComplaint)
    if (words.endsWith(begun)) break
  }
  notices.destroy()
  return words
})
