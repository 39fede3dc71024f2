/**
 * Looks at what a command uses, and says when it is too much. The limits of the kernel hold for one process; this is
 * for all of them together.
 */
import { statfs } from "node:fs/promises"
import { Duration, Effect } from "effect"
import type { SandboxLimits } from "#runtime/sandbox/limits.ts"
import { usageOf } from "#runtime/sandbox/processes.ts"

const pause = Duration.millis(200)

/** Ends with what is used too much of, for people. */
export const overuse = Effect.fnUntraced(function* (pid: number, folder: string, limits: SandboxLimits) {
  while (true) {
    yield* Effect.sleep(pause)
    const { processes, memoryBytes } = usageOf(pid)
    if (memoryBytes > limits.memoryBytes) return `more than ${mebibytes(limits.memoryBytes)} MiB of memory`
    if (processes > limits.processes) return `more than ${limits.processes} processes`
    if ((yield* freeBytes(folder)) < limits.freeBytes) {
      return `less than ${mebibytes(limits.freeBytes)} MiB are left on the disk`
    }
  }
})

const mebibytes = (bytes: number): number => Math.floor(bytes / 1_048_576)

/** Infinite where it cannot be known. */
const freeBytes = (folder: string): Effect.Effect<number> =>
  Effect.promise(() =>
    statfs(folder).then(
      ({ bavail, bsize }) => bavail * bsize,
      () => Number.POSITIVE_INFINITY,
    ),
  )
