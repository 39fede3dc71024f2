import { it } from "@effect/vitest"
import { Cause, Effect, Layer, Logger, Redacted, References } from "effect"
import { describe, expect } from "vitest"
import { registerSecret } from "#core/redaction.ts"
import { effectLogger, makeLog } from "#runtime/logging.ts"

const capture = (level: "info" | "debug" = "info") => {
  const lines: Array<string> = []
  const log = makeLog({ Level: level, Format: "json" }, { write: (line) => lines.push(line) })
  return {
    log,
    layer: Layer.merge(Logger.layer([effectLogger(log)]), Layer.succeed(References.MinimumLogLevel, "Trace")),
    text: () => lines.join(""),
    parsed: (): ReadonlyArray<Record<string, unknown>> => lines.map((line) => JSON.parse(line)),
  }
}

describe("what Effect logs", () => {
  it.effect("becomes one JSON line with the fiber's annotations and span as fields", () => {
    const out = capture()
    return Effect.logWarning("lease lost", { holder: "r2" }).pipe(
      Effect.annotateLogs({ run_id: "r1", request_id: "q1" }),
      Effect.withSpan("Coordinator.beat"),
      Effect.andThen(
        Effect.sync(() =>
          expect(out.parsed()).toEqual([
            {
              level: "warn",
              time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
              msg: "lease lost",
              run_id: "r1",
              request_id: "q1",
              holder: "r2",
              trace_id: expect.any(String),
              span_id: expect.any(String),
            },
          ]),
        ),
      ),
      Effect.provide(out.layer),
    )
  })

  it.effect("has the cause of a failure, and nothing below the level", () => {
    const out = capture()
    return Effect.logDebug("hidden").pipe(
      Effect.andThen(Effect.logError("turn failed", Cause.fail(new Error("no model")))),
      Effect.andThen(
        Effect.sync(() => {
          expect(out.parsed()).toHaveLength(1)
          expect(out.parsed()[0]).toMatchObject({ level: "error", msg: "turn failed" })
          expect(String(out.parsed()[0]?.cause)).toContain("no model")
        }),
      ),
      Effect.provide(out.layer),
    )
  })

  it.effect("never holds a credential, wherever it stands", () => {
    const out = capture()
    registerSecret("canary-registered-1")
    const failure = new Error("refused canary-registered-1", { cause: { password: "canary-2" } })
    return Effect.logInfo("key svc_canaryAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", {
      apiKey: "canary-3",
      nested: { list: [{ Authorization: "canary-4" }], url: "postgres://u:canary-5@h/d" },
      token: Redacted.make("canary-6"),
      failure,
    }).pipe(
      Effect.andThen(Effect.logError(failure)),
      Effect.annotateLogs({ session_token: "canary-7" }),
      Effect.andThen(
        Effect.sync(() => {
          out.log.error(failure)
          out.log.info({ err: failure })
          out.log.info("%s and %j", "canary-registered-1", { secret: "canary-8" })
          out.log.child({ access_key: "canary-9", run_id: "r1" }).info("child")
          expect(out.parsed()).toHaveLength(6)
          expect(out.text()).not.toContain("canary")
          expect(out.parsed()[5]).toMatchObject({ run_id: "r1", access_key: "[redacted]" })
        }),
      ),
      Effect.provide(out.layer),
    )
  })

  it("keeps counts of tokens, and cuts what is too long, too deep or refers to itself", () => {
    const out = capture()
    const loop: Record<string, unknown> = { name: "loop" }
    loop.self = loop
    out.log.info(
      { input_tokens: 12, max_tokens: "12", loop, bytes: new Uint8Array(3), big: 3n, text: "x".repeat(50_000) },
      "all",
    )
    const [line] = out.parsed()
    expect(line).toMatchObject({ input_tokens: 12, max_tokens: "12", bytes: "[3 bytes]", big: "3" })
    expect(out.text().length).toBeLessThan(20_000)
    expect(out.text()).toContain("nested too deeply")
  })
})
