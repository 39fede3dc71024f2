/**
 * Logs: one JSON object per line on standard output, or lines for people on a terminal. Effect's log
 * functions write here, with the fiber's annotations (`run_id`, `project_id`, `request_id`, …) as fields.
 *
 * Every text is redacted before it is written, by the name of its field, by its form and by registered
 * value; a line cannot be longer than its bounds here. Written without blocking; flushed at the end.
 */
import { createRequire } from "node:module"
import { Cause, Context, Effect, Layer, Logger, type LogLevel, Option, References, Tracer } from "effect"
import {
  type Bindings,
  type ChildLoggerOptions,
  type DestinationStream,
  type LogFn,
  type Logger as Pino,
  pino,
} from "pino"
import { Settings, type SettingsValues } from "#core/settings.ts"
import { cleanFields, cleanText } from "#runtime/logging/clean.ts"

/** The root of all loggers, for what stands outside of Effect. */
export class Log extends Context.Service<Log, Pino>()("runtime/Log") {}

type LoggingSettings = SettingsValues["Logging"]

/** `destination` is standard output where absent. */
export const makeLog = ({ Level, Format }: LoggingSettings, destination?: DestinationStream): Pino => {
  const log = pino(
    {
      level: Level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // `cleanFields` has made errors plain already
      serializers: { err: (error: unknown) => error },
      formatters: { level: (label) => ({ level: label }), log: cleanFields },
      hooks: {
        logMethod(args, method) {
          method.apply(this, cleanArguments(args))
        },
      },
    },
    destination ?? (isPretty(Format) ? prettyStream() : pino.destination({ dest: 1, sync: false })),
  )
  // pino has no formatter for the fields of children; every child inherits this
  const { child } = log
  const cleanChild = function (this: Pino, fields: Bindings, options?: ChildLoggerOptions): Pino {
    return Reflect.apply(child, this, [cleanFields(fields), options])
  }
  return Object.assign(log, { child: cleanChild })
}

/** An error without a message of its own would lend its own to the line, past the redaction. */
const cleanArguments = (args: Parameters<LogFn>): Parameters<LogFn> => {
  const [first, ...rest]: ReadonlyArray<unknown> = args
  const clean = rest.map((arg) => (typeof arg === "object" && arg !== null ? cleanFields(arg) : cleanArgument(arg)))
  const error = first instanceof Error ? first : errorOf(first)
  if (error !== undefined && clean.length === 0) clean.push(cleanText(error.message))
  // the same arguments in the same places
  return [first instanceof Error ? { err: first } : cleanArgument(first), ...clean] as unknown as Parameters<LogFn>
}

const cleanArgument = (arg: unknown): unknown => (typeof arg === "string" ? cleanText(arg) : arg)

const errorOf = (fields: unknown): Error | undefined =>
  typeof fields === "object" && fields !== null && "err" in fields && fields.err instanceof Error
    ? fields.err
    : undefined

const isPretty = (format: LoggingSettings["Format"]): boolean =>
  format === "pretty" || (format === "auto" && process.stdout.isTTY === true)

const prettyStream = (): DestinationStream => {
  // only on a terminal: services do not pay for loading it
  const { build }: typeof import("pino-pretty") = createRequire(import.meta.url)("pino-pretty")
  return build({ colorize: process.stdout.hasColors?.() ?? false, translateTime: "SYS:HH:MM:ss.l", sync: true })
}

const levels = {
  All: "trace",
  Trace: "trace",
  Debug: "debug",
  Info: "info",
  Warn: "warn",
  Error: "error",
  Fatal: "fatal",
  None: "silent",
} as const satisfies Record<LogLevel.LogLevel, string>

const minimumLevels = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  fatal: "Fatal",
} as const satisfies Record<LoggingSettings["Level"], LogLevel.LogLevel>

/** Writes what Effect logs. Objects among the arguments become fields, the other arguments the message. */
export const effectLogger = (log: Pino): Logger.Logger<unknown, void> =>
  Logger.make(({ message, logLevel, cause, fiber, date }) => {
    const level = levels[logLevel]
    if (level === "silent" || !log.isLevelEnabled(level)) return
    const fields: Record<string, unknown> = { ...fiber.getRef(References.CurrentLogAnnotations) }
    for (const [label, start] of fiber.getRef(References.CurrentLogSpans)) {
      fields[`${label}_ms`] = Math.max(0, date.getTime() - start)
    }
    const span = Context.getOption(fiber.context, Tracer.ParentSpan)
    if (Option.isSome(span) && span.value.sampled) {
      fields.trace_id = span.value.traceId
      fields.span_id = span.value.spanId
    }
    const words: Array<string> = []
    for (const part of Array.isArray(message) ? message : [message]) {
      if (part instanceof Error) fields.err = part
      else if (typeof part === "object" && part !== null) Object.assign(fields, part)
      else words.push(String(part))
    }
    if (cause.reasons.length > 0) fields.cause = Cause.pretty(cause)
    log[level](fields, words.join(" "))
  })

/** Replaces Effect's own loggers, with the level of the settings. */
export const layer: Layer.Layer<Log, never, Settings> = Layer.unwrap(
  Effect.gen(function* () {
    const { Logging } = yield* Settings
    const log = yield* Effect.sync(() => makeLog(Logging))
    return Layer.mergeAll(
      Layer.effect(Log, Effect.acquireRelease(Effect.succeed(log), flush)),
      Logger.layer([effectLogger(log)]),
      Layer.succeed(References.MinimumLogLevel, minimumLevels[Logging.Level]),
    )
  }),
)

/** Waits until everything is written, for a second at most: a reader that is gone must not hold the stop. */
const flush = (log: Pino): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    log.flush(() => resume(Effect.void))
  }).pipe(Effect.timeoutOption("1 second"), Effect.asVoid)
