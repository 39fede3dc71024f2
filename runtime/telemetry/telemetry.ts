/**
 * Telemetry of a replica: its metrics always; traces and metrics to an OpenTelemetry collector where
 * `Telemetry:OtlpEndpoint` is set. Without it nothing of the exporter is loaded.
 */
import { Effect, Layer } from "effect"
import { Settings } from "#core/settings.ts"
import * as metrics from "#runtime/telemetry/metrics.ts"

const exporter: Layer.Layer<never, never, Settings> = Layer.unwrap(
  Effect.gen(function* () {
    const { Telemetry } = yield* Settings
    if (Telemetry.OtlpEndpoint === undefined) return Layer.empty
    const { OtlpEndpoint: endpoint, ServiceName: serviceName } = Telemetry
    const otlp = yield* Effect.promise(() => import("#runtime/telemetry/otlp.ts"))
    return otlp.layer({ endpoint, serviceName })
  }),
)

/** Provides the `Metrics` port and the tracer that spans go to. */
export const layer: Layer.Layer<never, never, Settings> = exporter.pipe(Layer.provideMerge(metrics.layer))
