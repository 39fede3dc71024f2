/**
 * Runs the `git` program: an argument array, never a shell; a clean environment; no configuration of the
 * machine or the user; no hooks, no file-system monitor, no prompts, no transport. For reading a local
 * repository. A command that takes too long is killed with all it started.
 */
import { spawn } from "node:child_process"
import { Duration, Effect } from "effect"

/** How long a command that only reads may take. */
const patience = Duration.seconds(20)
/** Characters of output that are kept. */
const maxOutput = 1_048_576

export interface GitResult {
  /** -1 where the program could not be started or was killed. */
  readonly code: number
  readonly stdout: string
}

const fixed: ReadonlyArray<string> = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.sshCommand=false",
  "core.attributesFile=/dev/null",
  "protocol.allow=never",
  "safe.bareRepository=explicit",
  "submodule.recurse=false",
].flatMap((setting) => ["-c", setting])

const environment = (): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  HOME: "/nonexistent",
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_PROTOCOL_FROM_USER: "0",
  GIT_ALLOW_PROTOCOL: "",
})

/** Runs git in `folder`, which must be absolute and is trusted to be owned by anybody. */
export const git = (folder: string, args: ReadonlyArray<string>): Effect.Effect<GitResult> =>
  Effect.callback<GitResult>((resume) => {
    const child = spawn("git", [...fixed, "-c", `safe.directory=${folder}`, "-C", folder, ...args], {
      env: environment(),
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    })
    let stdout = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (chunk: string) => {
      if (stdout.length < maxOutput) stdout += chunk
    })
    child.on("error", () => resume(Effect.succeed({ code: -1, stdout: "" })))
    child.on("close", (code) => resume(Effect.succeed({ code: code ?? -1, stdout })))
    return Effect.sync(() => killGroup(child.pid))
  }).pipe(Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.succeed({ code: -1, stdout: "" }) }))

const killGroup = (pid: number | undefined): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // it has ended already
  }
}
