/**
 * Builds and tests one state of a repository with its own commands, in the sandbox, one after the other. A command
 * that fails is a finding about the work; a sandbox that cannot run it, or a command that stalls, is not.
 */
import { Clock, Duration, Effect } from "effect"
import type { Mount } from "#core/ports/sandbox.ts"
import { Sandbox } from "#core/ports/sandbox.ts"
import type { BuildCommand, TopFiles } from "#runtime/build-test/build-command.ts"
import { type Found, findCommands } from "#runtime/build-test/commands.ts"

export interface BuildTest {
  readonly workingDirectory: string
  readonly mounts: ReadonlyArray<Mount>
  readonly top: TopFiles
  readonly network: boolean
  readonly maxOutputBytes: number
  /** For all commands together. */
  readonly limit: Duration.Duration
  /** Without any output. */
  readonly stall: Duration.Duration
  readonly redact: (text: string) => string
  readonly onOutput: (command: BuildCommand, stream: "stdout" | "stderr", text: string) => Effect.Effect<void>
}

export type BuildVerdict =
  /** `source` is null where there was nothing to run. */
  | { readonly _tag: "Passed"; readonly source: string | null; readonly commands: ReadonlyArray<string> }
  | { readonly _tag: "Failed"; readonly command: string; readonly exitCode: number; readonly output: string }
  /** Nothing is known of the work. `reason` begins with `build_test_infra_`. */
  | { readonly _tag: "Unavailable"; readonly reason: string; readonly detail: string }

/** Characters of output that a finding keeps: the end, where test runners say what failed. */
const keptOutput = 8_000

/** A shell's answer where there is no such program, or it cannot be run. */
const missing = new Set([126, 127])

const unavailable = (reason: string, detail: string): BuildVerdict => ({
  _tag: "Unavailable",
  reason: `build_test_infra_${reason}`,
  detail,
})

export const runBuildTest = Effect.fn("buildTest")(function* (spec: BuildTest) {
  const found: Found = findCommands(spec.top)
  if (found._tag === "Nothing") return { _tag: "Passed", source: null, commands: [] } satisfies BuildVerdict
  if (found._tag === "Unreadable") {
    return { _tag: "Failed", command: found.source, exitCode: 1, output: found.message } satisfies BuildVerdict
  }
  const until = (yield* Clock.currentTimeMillis) + Duration.toMillis(spec.limit)
  const passed: Array<string> = []
  for (const command of found.commands) {
    const verdict = yield* runOne(spec, command, until)
    if (verdict !== undefined) return verdict
    passed.push(command.command)
  }
  return { _tag: "Passed", source: found.source, commands: passed } satisfies BuildVerdict
})

/** Undefined where the command passed. */
const runOne = Effect.fnUntraced(function* (spec: BuildTest, command: BuildCommand, until: number) {
  const sandbox = yield* Sandbox
  const left = until - (yield* Clock.currentTimeMillis)
  if (left <= 0) return unavailable("timeout", `There was no time left for ${command.name}.`)
  let tail = ""
  let heardAt = yield* Clock.currentTimeMillis
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }
  const running = sandbox.run({
    command: command.command,
    workingDirectory: spec.workingDirectory,
    mounts: spec.mounts,
    network: spec.network,
    direct: false,
    timeout: Duration.millis(left),
    maxOutputBytes: spec.maxOutputBytes,
    environment: { CI: "1" },
    onOutput: Effect.fnUntraced(function* (stream, chunk) {
      heardAt = yield* Clock.currentTimeMillis
      const text = spec.redact(decoders[stream].decode(chunk, { stream: true }))
      tail = (tail + text).slice(-keptOutput)
      yield* spec.onOutput(command, stream, text)
    }),
  })
  const stallMillis = Duration.toMillis(spec.stall)
  const stalled = Effect.gen(function* () {
    while (true) {
      const silent = (yield* Clock.currentTimeMillis) - heardAt
      if (silent >= stallMillis) return "stalled" as const
      yield* Effect.sleep(Duration.millis(stallMillis - silent))
    }
  })
  const ended = yield* Effect.raceFirst(running, stalled).pipe(
    Effect.catchTag("SandboxRefused", ({ reason }) => Effect.succeed(unavailable("sandbox", reason))),
  )
  if (ended === "stalled") {
    const minutes = Math.round(Duration.toMinutes(spec.stall))
    return unavailable("stalled", `${command.name} wrote nothing for ${minutes} minutes.\n${tail}`)
  }
  if ("_tag" in ended) return ended
  if (ended.timedOut) return unavailable("timeout", `${command.name} was not done in time.\n${tail}`)
  if (missing.has(ended.exitCode)) {
    return unavailable("tool_missing", `${command.command}: the program is not there.\n${tail}`)
  }
  if (ended.exitCode === 0) return undefined
  return { _tag: "Failed", command: command.command, exitCode: ended.exitCode, output: tail } satisfies BuildVerdict
})
