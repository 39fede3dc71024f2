import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { it } from "@effect/vitest"
import { Effect, Layer, Scope } from "effect"
import { describe, expect } from "vitest"
import { Metrics } from "#core/ports/metrics.ts"
import { Settings, settingsForTests } from "#core/settings.ts"
import { layer } from "#runtime/telemetry/telemetry.ts"

/** A collector that keeps what it was sent, by path. */
const collector = Effect.acquireRelease(
  Effect.callback<{ url: string; received: Map<string, string>; close: () => void }>((resume) => {
    const received = new Map<string, string>()
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        received.set(request.url ?? "", Buffer.concat(chunks).toString())
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
      })
    })
    server.listen(0, "127.0.0.1", () => {
      // an address with a port, since it listens on TCP
      const { port } = server.address() as AddressInfo
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}/`, received, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close),
)

const withTelemetry = (OtlpEndpoint: string) =>
  layer.pipe(
    Layer.provide(Layer.succeed(Settings, settingsForTests({ Telemetry: { OtlpEndpoint, ServiceName: "svc-test" } }))),
  )

const work = Effect.gen(function* () {
  const metrics = yield* Metrics
  metrics.count("svc_events_appended_total", undefined, 7)
}).pipe(Effect.withSpan("Runs.start"))

describe("a collector", () => {
  it.live("receives the spans and metrics of a replica, at the latest when it stops", () =>
    Effect.gen(function* () {
      const { url, received } = yield* collector
      yield* work.pipe(Effect.provide(withTelemetry(url)))
      expect([...received.keys()].toSorted()).toEqual(["/v1/metrics", "/v1/traces"])
      expect(received.get("/v1/traces")).toContain('"name":"Runs.start"')
      expect(received.get("/v1/traces")).toContain("svc-test")
      expect(received.get("/v1/metrics")).toContain("svc_events_appended_total")
      expect(received.get("/v1/metrics")).toContain("process_resident_memory_bytes")
    }),
  )

  it.live("that is away costs nothing but a moment at the stop", () =>
    Effect.gen(function* () {
      const started = performance.now()
      const scope = yield* Scope.make()
      yield* Scope.provide(scope)(collector).pipe(
        Effect.tap(({ close }) => Effect.sync(close)),
        Effect.flatMap(({ url }) => work.pipe(Effect.provide(withTelemetry(url)))),
      )
      expect(performance.now() - started).toBeLessThan(6_000)
    }),
  )
})
