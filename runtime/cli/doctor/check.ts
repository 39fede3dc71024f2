/** One thing that `svc doctor` looks at. */
import { execFile } from "node:child_process"
import { Effect } from "effect"

export interface Finding {
  readonly name: string
  /** `failed`: the service does not work without it. `warning`: part of it does not. */
  readonly status: "ok" | "warning" | "failed"
  readonly detail: string
  /** What to do; absent where nothing is to be done. */
  readonly advice?: string
}

export type Check = Effect.Effect<Finding>

export const ok = (name: string, detail: string): Finding => ({ name, status: "ok", detail })
export const warning = (name: string, detail: string, advice: string): Finding => ({
  name,
  status: "warning",
  detail,
  advice,
})
export const failed = (name: string, detail: string, advice: string): Finding => ({
  name,
  status: "failed",
  detail,
  advice,
})

/** Longest run of a program that only says something of itself. */
const programTimeoutMillis = 5_000

/** Standard output of a program; undefined where it is not there, fails, or hangs. */
export const outputOf = (program: string, args: ReadonlyArray<string>): Effect.Effect<string | undefined> =>
  Effect.callback((resume) => {
    const child = execFile(program, [...args], { timeout: programTimeoutMillis, encoding: "utf8" }, (error, stdout) =>
      resume(Effect.succeed(error === null ? stdout : undefined)),
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })
