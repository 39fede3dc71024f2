import { it } from "@effect/vitest"
import { Context, Effect, Metric } from "effect"
import { describe, expect } from "vitest"
import { Metrics } from "#core/ports/metrics.ts"
import { layer, makeMetrics } from "#runtime/telemetry/metrics.ts"

const fresh = () => makeMetrics(Context.make(Metric.MetricRegistry, new Map()))

describe("the metrics", () => {
  it.effect("are counted by labels and shown in the text format of Prometheus", () =>
    Effect.gen(function* () {
      const metrics = fresh()
      metrics.count("svc_http_requests_total", { method: "GET", route: "/api/runs/{id}", status: "200" })
      metrics.count("svc_http_requests_total", { method: "GET", route: "/api/runs/{id}", status: "200" }, 2)
      metrics.observe("svc_event_append_duration_seconds", 0.004)
      metrics.observe("svc_event_append_duration_seconds", 99)
      metrics.gauge("svc_stream_subscribers", 5)
      metrics.gauge("svc_stream_subscribers", 3)
      const text = yield* metrics.text
      expect(text.split("\n")).toEqual(
        expect.arrayContaining([
          "# TYPE svc_http_requests_total counter",
          'svc_http_requests_total{method="GET",route="/api/runs/{id}",status="200"} 3',
          "# TYPE svc_event_append_duration_seconds histogram",
          'svc_event_append_duration_seconds_bucket{le="0.0025"} 0',
          'svc_event_append_duration_seconds_bucket{le="0.005"} 1',
          'svc_event_append_duration_seconds_bucket{le="+Inf"} 2',
          "svc_event_append_duration_seconds_sum 99.004",
          "# TYPE svc_stream_subscribers gauge",
          "svc_stream_subscribers 3",
        ]),
      )
      expect(text.match(/# TYPE svc_http_requests_total/g)).toHaveLength(1)
    }),
  )

  it.effect("read sampled values when somebody looks, until they are stopped", () =>
    Effect.gen(function* () {
      const metrics = fresh()
      let used = 1
      const stop = metrics.sampled("svc_database_connections", () => used, { state: "used" })
      expect(yield* metrics.text).toContain('svc_database_connections{state="used"} 1')
      used = 4
      expect(yield* metrics.text).toContain('svc_database_connections{state="used"} 4')
      stop()
      used = 9
      expect(yield* metrics.text).toContain('svc_database_connections{state="used"} 4')
    }),
  )

  it.effect("stay bounded when a label takes ever new values", () =>
    Effect.gen(function* () {
      const metrics = fresh()
      for (let path = 0; path < 2_500; path++) metrics.count("svc_http_requests_total", { route: `/${path}` })
      const text = yield* metrics.text
      expect(text.match(/^svc_http_requests_total\{/gm)).toHaveLength(2_000)
      expect(text).toContain("svc_metrics_dropped_total 500")
    }),
  )

  it.effect("show the process itself", () =>
    Effect.gen(function* () {
      const text = yield* (yield* Metrics).text
      for (const name of [
        "process_resident_memory_bytes",
        "process_heap_bytes",
        "process_cpu_seconds",
        "svc_event_loop_lag_seconds",
      ]) {
        expect(text).toMatch(new RegExp(`^${name}`, "m"))
      }
    }).pipe(Effect.provide(layer)),
  )

  it.effect("are silent where no implementation is provided", () =>
    Effect.gen(function* () {
      const metrics = yield* Metrics
      metrics.count("svc_events_appended_total")
      expect(yield* metrics.text).toBe("")
    }),
  )
})
