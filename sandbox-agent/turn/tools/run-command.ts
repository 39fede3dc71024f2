/** `run_command`: a shell command in the sandbox, told as it goes. */
import { Clock, Duration, Effect, Schema } from "effect"
import type { CommandResult } from "#core/wire/turn.ts"
import { makePaced } from "#sandbox-agent/turn/pace.ts"
import { defineTool, done, failed, type ToolUse } from "#sandbox-agent/turn/tool.ts"

/** Bytes of a command. */
const maxCommandBytes = 65_536
/** Where the model says nothing. A build may take long; the time of the turn ends it in any case. */
const defaultTimeout = Duration.minutes(30)
const maxTimeoutMillis = 3_600_000

export const runCommand = defineTool({
  name: "run_command",
  description:
    "Runs a command by /bin/sh in the working directory, without a terminal. It is killed with all it started when its time is up or it ends.",
  input: Schema.Struct({
    command: Schema.String.check(Schema.isMinLength(1)),
    timeout_ms: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxTimeoutMillis }))),
  }),
  hasEffect: true,
  run: ({ command, timeout_ms }, use) => {
    if (Buffer.byteLength(command) > maxCommandBytes) {
      return Effect.succeed(failed(`The command has more than ${maxCommandBytes} bytes.`))
    }
    if (command.includes("\0")) return Effect.succeed(failed("The command has a NUL character in it."))
    return execute(command, timeout_ms === undefined ? defaultTimeout : Duration.millis(timeout_ms), use)
  },
})

const execute = Effect.fnUntraced(function* (command: string, timeout: Duration.Duration, use: ToolUse) {
  const { world, callId } = use
  const started = yield* Clock.currentTimeMillis
  const output = (stream: "stdout" | "stderr") =>
    makePaced((data) => world.emit([{ type: "tool.output", payload: { stream, data, callId } }]))
  const streams = { stdout: yield* output("stdout"), stderr: yield* output("stderr") }
  const result = yield* world
    .command({
      callId,
      command,
      timeout,
      onOutput: (stream, text) => streams[stream].push(text),
      onWait: (elapsedSeconds) => world.emit([pending(use, started, timeout, elapsedSeconds)]),
    })
    .pipe(Effect.catchTag("CommandRefused", ({ reason }) => Effect.succeed({ refused: reason })))
  yield* streams.stdout.flush
  yield* streams.stderr.flush
  if ("refused" in result) {
    return failed(result.refused, [
      { type: "run.degraded", payload: { toolName: "run_command", reason: result.refused } },
      execResult(-1, false, false),
    ])
  }
  return done(textOf(result), [execResult(result.exitCode, result.timedOut, result.outputTruncated)])
}, Effect.scoped)

const execResult = (exit_code: number, timed_out: boolean, output_truncated: boolean) => ({
  type: "tool.exec_result",
  payload: { exit_code, timed_out, output_truncated },
})

const pending = (
  { request, callId }: ToolUse,
  started: number,
  timeout: Duration.Duration,
  elapsedSeconds: number,
) => ({
  type: "tool.execution_pending",
  payload: {
    runId: request.runId,
    toolCallId: callId,
    toolName: "run_command",
    startedAtUtc: new Date(started).toISOString(),
    deadlineUtc: new Date(started + Duration.toMillis(timeout)).toISOString(),
    elapsedSeconds,
  },
})

const textOf = ({ stdout, stderr, exitCode, timedOut, outputTruncated }: CommandResult): string =>
  [
    `stdout:\n${stdout}`,
    `stderr:\n${stderr}`,
    `exit_code: ${exitCode}`,
    ...(timedOut ? ["timed_out: true"] : []),
    ...(outputTruncated ? ["output_truncated: true"] : []),
  ].join("\n")
