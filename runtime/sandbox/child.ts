/** A started program: its streams, its end, and how all that it started is ended. */
import { type ChildProcess, spawn } from "node:child_process"
import type { Readable, Writable } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, type Scope } from "effect"
import { SandboxRefused } from "#core/ports/sandbox.ts"
import { inheritedCovers } from "#runtime/sandbox/descriptors.ts"
import { type Pipe, takePipe } from "#runtime/sandbox/pipes.ts"
import { childrenOf, sendKill } from "#runtime/sandbox/processes.ts"
import type { Program } from "#runtime/sandbox/program.ts"

export interface Child {
  readonly pid: number
  readonly stdout: Readable
  readonly stderr: Readable
  /** Descriptor 3. */
  readonly notices: Readable
  /** The exit code; -1 where a signal ended it. Nothing that it started in its namespaces lives any more. */
  readonly exited: Promise<number>
  readonly hasEnded: () => boolean
  /** Ends everything; does not wait. */
  readonly kill: () => Promise<void>
}

/** Between looks for the process 1 of a command that was only just started. */
const lookMillis = 5
const looks = 100

/** Killed with its scope. It hears of no terminal, is of no process group of the service, and inherits no descriptor. */
export const startChild = Effect.fnUntraced(function* (
  program: Program,
): Effect.fn.Return<Child, SandboxRefused, Scope.Scope> {
  const [stdout, stderr] = yield* Effect.all([takePipe, takePipe]).pipe(
    Effect.mapError(() => new SandboxRefused({ reason: "The output of the command cannot be taken." })),
  )
  return yield* Effect.acquireRelease(spawned(program, stdout, stderr), ({ kill, exited }) =>
    Effect.promise(() => kill().then(() => exited)),
  )
})

const spawned = (program: Program, stdout: Pipe, stderr: Pipe): Effect.Effect<Child, SandboxRefused> =>
  Effect.callback((resume) => {
    const refuse = (): void =>
      resume(Effect.fail(new SandboxRefused({ reason: `The program ${program.file} could not be started.` })))
    let child: ChildProcess
    try {
      child = spawn(program.file, program.args, {
        cwd: program.workingDirectory,
        env: program.environment,
        stdio: ["ignore", stdout.descriptor, stderr.descriptor, "pipe", ...moreDescriptors(program)],
        detached: true,
        ...program.owner,
      })
    } catch {
      refuse() // an argument that no program can be given
      return
    }
    stdout.closeDescriptor()
    stderr.closeDescriptor()
    const exited = new Promise<number>((ended) => {
      child.once("exit", (code) => ended(code ?? -1))
    })
    child.once("error", refuse)
    child.once("spawn", () => {
      const { pid, stdio } = child
      if (pid === undefined) return refuse()
      // all are pipes, as asked for
      const notices = stdio[3] as Readable
      notices.on("error", () => {})
      // Node.js throws away what nobody listens for when the process exits
      notices.on("readable", () => {})
      program.handed?.forEach((text, index) => {
        const pipe = stdio[4 + index] as Writable
        // it may end without reading all
        pipe.on("error", () => {}).end(text)
      })
      resume(
        Effect.succeed({
          pid,
          stdout: stdout.readable,
          stderr: stderr.readable,
          notices,
          exited,
          hasEnded: () => hasEnded(child),
          kill: () => killed(child, program),
        }),
      )
    })
  })

const moreDescriptors = ({ handed = [] }: Program): ReadonlyArray<"pipe" | "ignore" | number> => [
  ...handed.map(() => "pipe" as const),
  ...inheritedCovers().slice(handed.length),
]

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/**
 * Process 1 of the namespace is killed: its parent, which is our child, ends only when the kernel has ended all
 * others in it. Without a namespace what can be reached is the process group.
 */
const killed = async (child: ChildProcess, program: Program): Promise<void> => {
  const { pid } = child
  if (pid === undefined) return
  if (!program.saysReady) return hasEnded(child) ? undefined : sendKill(-pid)
  for (let look = 0; look < looks && !hasEnded(child); look++) {
    const [first] = childrenOf(pid)
    if (first !== undefined) return sendKill(first)
    await sleep(lookMillis)
  }
  // then process 1 hears of its parent's death
  if (!hasEnded(child)) sendKill(pid)
}
