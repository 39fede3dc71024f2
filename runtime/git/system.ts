/** Runs a program of the operating system other than git: an argument array, a clean environment, 10 s at most. */
import { execFile } from "node:child_process"
import { Effect } from "effect"

const patienceMillis = 10_000

/** The exit code; -1 where the program is not there or did not end. An interruption waits for its end: it mounts or not. */
export const system = (program: string, args: ReadonlyArray<string>, folder: string): Effect.Effect<number> =>
  Effect.callback<number>((resume) => {
    execFile(
      program,
      args,
      {
        cwd: folder,
        env: { PATH: `${process.env.PATH ?? ""}:/usr/sbin:/sbin:/usr/bin:/bin`, LC_ALL: "C" },
        timeout: patienceMillis,
        killSignal: "SIGKILL",
      },
      (error) => resume(Effect.succeed(error === null ? 0 : typeof error.code === "number" ? error.code : -1)),
    )
  }).pipe(Effect.uninterruptible)
