/**
 * Pipes for the output of commands. What Node.js gives a program are sockets, and those cannot be opened again by
 * name: `echo >/dev/stderr` would fail.
 */
import { execFile } from "node:child_process"
import { closeSync, constants, openSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Readable } from "node:stream"
import { promisify } from "node:util"
import { Effect, type Scope } from "effect"

export interface Pipe {
  readonly readable: Readable
  /** For one program to inherit; to be closed when it has been started. */
  readonly descriptor: number
  readonly closeDescriptor: () => void
}

/** Making one costs a process; so some are made at a time. */
const batch = 16
const ready: Array<{ readonly reading: number; readonly writing: number }> = []

/** Both ends are closed with the scope. Fails where the system has no pipes with names. */
export const takePipe: Effect.Effect<Pipe, unknown, Scope.Scope> = Effect.acquireRelease(
  Effect.gen(function* () {
    let ends = ready.pop()
    while (ends === undefined) {
      yield* Effect.tryPromise(makeBatch)
      ends = ready.pop()
    }
    const { reading, writing } = ends
    const readable = new Socket({ fd: reading, readable: true, writable: false })
    readable.on("error", () => {})
    let open = true
    const closeDescriptor = (): void => {
      if (open) closeSync(writing)
      open = false
    }
    return { readable, descriptor: writing, closeDescriptor }
  }),
  ({ readable, closeDescriptor }) =>
    Effect.sync(() => {
      closeDescriptor()
      readable.destroy()
    }),
)

const makeBatch = async (): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-pipes-"))
  try {
    const paths = Array.from({ length: batch }, (_, index) => join(folder, String(index)))
    // a command may run as somebody else; nobody else gets into the folder
    await promisify(execFile)("mkfifo", ["-m", "666", "--", ...paths])
    for (const path of paths) {
      const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
      ready.push({ reading, writing: openSync(path, constants.O_WRONLY) })
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
