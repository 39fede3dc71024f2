/**
 * Runs the `git` program: an argument array, never a shell; a clean environment; no configuration of the
 * machine or the user; no hooks, no file-system monitor, no prompts, no transport, no replaced objects. A
 * command that takes too long, or is no longer waited for, is killed with all it started.
 *
 * Callers put a value that is not a constant of theirs only behind `--` or `--end-of-options`, or after the
 * `=` of an option.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { Duration, Effect } from "effect"

/** How long a command may take that says nothing else. */
const patience = Duration.seconds(20)
/** How long a killed program is waited for; one that hangs in the disk may take longer. */
const killPatience = Duration.seconds(5)
/** Bytes of output that are kept where nothing else is said. */
const maxOutput = 1_048_576
/** Bytes of what git complains about that are kept. */
const maxComplaint = 4_096

export interface GitResult {
  /** -1 where the program could not be started or was killed. */
  readonly code: number
  readonly stdout: string
}

export interface GitOutput {
  /** -1 where the program could not be started or was killed. */
  readonly code: number
  readonly stdout: Buffer
  /** For logs and for telling cases apart; it may name paths of this machine. */
  readonly complaint: string
  /** There was more than was asked for; the program was killed. */
  readonly truncated: boolean
  readonly timedOut: boolean
}

/** Who the program runs as; only root can be anybody else. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

export interface GitCall {
  readonly args: ReadonlyArray<string>
  /** The git directory; nothing is searched for. */
  readonly gitDir: string
  /** Where there is one. The program must be allowed to see it. */
  readonly workTree?: string | undefined
  readonly index?: string | undefined
  readonly stdin?: string | Uint8Array | undefined
  /** `-c` settings over the fixed ones. */
  readonly settings?: ReadonlyArray<string> | undefined
  readonly maxOutput?: number | undefined
  readonly timeout?: Duration.Duration | undefined
  readonly owner?: Owner | undefined
  /** The output as it comes, instead of in the result; false ends the program. */
  readonly onOutput?: ((chunk: Buffer) => boolean) | undefined
}

const fixed: ReadonlyArray<string> = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.sshCommand=false",
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "log.showSignature=false",
  "core.protectNTFS=true",
  "core.protectHFS=true",
  "protocol.allow=never",
  "safe.bareRepository=explicit",
  "submodule.recurse=false",
  "diff.ignoreSubmodules=all",
  "gc.auto=0",
  "maintenance.auto=false",
].flatMap((setting) => ["-c", setting])

const environment = (): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  HOME: "/nonexistent",
  LC_ALL: "C",
  TZ: "UTC",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_PROTOCOL_FROM_USER: "0",
  GIT_ALLOW_PROTOCOL: "",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_NO_LAZY_FETCH: "1",
  GIT_LITERAL_PATHSPECS: "1",
})

/** Runs git in `folder`, which must be absolute and is trusted to be owned by anybody. For reading. */
export const git = (folder: string, args: ReadonlyArray<string>): Effect.Effect<GitResult> =>
  Effect.map(
    start({
      args: ["-c", `safe.directory=${folder}`, "-C", folder, ...args],
      environment: {},
      maxOutput,
      timeout: patience,
    }),
    ({ code, stdout }) => ({ code, stdout: stdout.toString("utf8") }),
  )

/** Runs git on a git directory that is named: nothing that lies in a working tree decides which. */
export const gitIn = (call: GitCall): Effect.Effect<GitOutput> =>
  start({
    args: [...(call.settings ?? []).flatMap((setting) => ["-c", setting]), ...call.args],
    environment: {
      GIT_DIR: call.gitDir,
      ...(call.workTree === undefined ? {} : { GIT_WORK_TREE: call.workTree }),
      ...(call.index === undefined ? {} : { GIT_INDEX_FILE: call.index }),
    },
    cwd: call.gitDir,
    stdin: call.stdin,
    maxOutput: call.maxOutput ?? maxOutput,
    timeout: call.timeout ?? patience,
    owner: call.owner,
    onOutput: call.onOutput,
  })

interface Start {
  readonly args: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  readonly maxOutput: number
  readonly timeout: Duration.Duration
  readonly cwd?: string
  readonly stdin?: string | Uint8Array | undefined
  readonly owner?: Owner | undefined
  readonly onOutput?: ((chunk: Buffer) => boolean) | undefined
}

const start = (how: Start): Effect.Effect<GitOutput> => {
  const chunks: Array<Buffer> = []
  let complaint = ""
  const outcome = (code: number, why: { truncated?: boolean; timedOut?: boolean }): GitOutput => ({
    code,
    stdout: Buffer.concat(chunks),
    complaint,
    truncated: why.truncated ?? false,
    timedOut: why.timedOut ?? false,
  })
  return Effect.callback<GitOutput>((resume) => {
    let kept = 0
    let truncated = false
    const child = spawn("git", [...fixed, ...how.args], {
      env: { ...environment(), ...how.environment },
      stdio: [how.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      detached: true,
      ...(how.cwd === undefined ? {} : { cwd: how.cwd }),
      ...(how.owner === undefined ? {} : how.owner),
    })
    const enough = (): void => {
      truncated = true
      killGroup(child)
    }
    child.stdout?.on("data", (chunk: Buffer) => {
      if (truncated) return
      if (how.onOutput !== undefined) {
        if (!how.onOutput(chunk)) enough()
        return
      }
      chunks.push(chunk.subarray(0, how.maxOutput - kept))
      kept += chunk.length
      if (kept > how.maxOutput) enough()
    })
    child.stderr?.on("data", (chunk: Buffer) => {
      if (complaint.length < maxComplaint) complaint += chunk.toString("utf8").slice(0, maxComplaint)
    })
    // it may end without reading all
    child.stdin?.on("error", () => {})
    child.stdin?.end(how.stdin)
    child.on("error", () => resume(Effect.succeed(outcome(-1, {}))))
    child.on("close", (code) => resume(Effect.succeed(outcome(code ?? -1, { truncated }))))
    return ended(child)
  }).pipe(
    Effect.timeoutOrElse({
      duration: how.timeout,
      orElse: () => Effect.sync(() => outcome(-1, { timedOut: true })),
    }),
  )
}

/** Killed, and gone: what it was writing is not written any more. */
const ended = (child: ChildProcess): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    killGroup(child)
  }).pipe(Effect.timeoutOption(killPatience), Effect.asVoid)

const killGroup = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // it has ended already
  }
}
