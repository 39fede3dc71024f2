/**
 * Sends traces and metrics over OTLP/HTTP (JSON). It uses the exporter that comes with Effect: spans and
 * metrics of the service are Effect's already, so that nothing stands between them and the wire. This is
 * the only file that knows that module, which may change in a minor version.
 *
 * A collector that is away costs the telemetry of that time and nothing else. Logs are not sent: they
 * carry `trace_id` and `span_id` for whoever collects standard output.
 */
import { hostname } from "node:os"
import { Duration, Effect, Layer, Schedule } from "effect"
import { FetchHttpClient } from "effect/http"
import { OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import { Metrics } from "#core/ports/metrics.ts"
import { version } from "#runtime/version.ts"

/** Within the seconds that a stop may take (`Server:ShutdownSeconds`, 8 by default). */
const shutdownTimeout = Duration.seconds(2)
const traceInterval = Duration.seconds(5)
const metricsInterval = Duration.seconds(10)

export interface OtlpOptions {
  /** Without a path of a signal: `/v1/traces` and `/v1/metrics` are added. */
  readonly endpoint: string
  readonly serviceName: string
}

export const layer = ({ endpoint, serviceName }: OtlpOptions): Layer.Layer<never> => {
  const base = endpoint.replace(/\/+$/, "")
  const resource = {
    serviceName,
    serviceVersion: version,
    attributes: { "service.instance.id": crypto.randomUUID(), "host.name": hostname() },
  }
  const exporters = Layer.mergeAll(
    OtlpTracer.layer({ url: `${base}/v1/traces`, resource, exportInterval: traceInterval, shutdownTimeout }),
    OtlpMetrics.layer({ url: `${base}/v1/metrics`, resource, exportInterval: metricsInterval, shutdownTimeout }),
    keepSampled,
  )
  return exporters.pipe(Layer.provide([OtlpSerialization.layerJson, FetchHttpClient.layer]))
}

/** The exporter reads stored values only: those that are read on demand are read as often as it sends. */
const keepSampled = Layer.effectDiscard(
  Effect.gen(function* () {
    const metrics = yield* Metrics
    yield* metrics.sample
    yield* metrics.sample.pipe(Effect.schedule(Schedule.spaced(metricsInterval)), Effect.forkScoped)
  }),
)
