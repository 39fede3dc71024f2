/**
 * Counts what `core/ports/metrics.ts` names, in a registry of Effect's metrics: one registry is read by
 * Prometheus (`text`) and by the OTLP exporter alike.
 *
 * Bounded: a metric keeps at most `maxSeries` combinations of labels; further ones are dropped and counted.
 */
import { type ELDHistogram, monitorEventLoopDelay, performance } from "node:perf_hooks"
import { Context, Effect, Layer, Metric } from "effect"
import { counters, gauges, histograms, type Labels, Metrics, type MetricsShape } from "#core/ports/metrics.ts"

/** Combinations of label values per metric. A service has some 200 routes with a few statuses each. */
const maxSeries = 2_000

/** Upper bounds in seconds: 1 ms to 30 s, dense where the promises are (10 ms, 250 ms, 5 s). */
const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const lagResolutionMillis = 20
const nanosInSecond = 1_000_000_000

/** Metrics of a replica: provides `Metrics`, and the registry that exporters read. */
export const layer: Layer.Layer<never> = Layer.effectContext(
  Effect.gen(function* () {
    const registry = Context.make(Metric.MetricRegistry, new Map())
    const metrics = makeMetrics(registry)
    const lag = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const monitor = monitorEventLoopDelay({ resolution: lagResolutionMillis })
        monitor.enable()
        return monitor
      }),
      (monitor) => Effect.sync(() => monitor.disable()),
    )
    sampleProcess(metrics, lag)
    return Context.add(registry, Metrics, metrics)
  }),
)

export const makeMetrics = (registry: Context.Context<never>): MetricsShape => {
  const series = new Map<string, Map<string, Series>>()
  const samples = new Set<() => void>()

  /** The series of these labels; undefined when there are too many already. */
  const seriesOf = (name: string, make: () => Series, labels: Labels | undefined): Series | undefined => {
    let known = series.get(name)
    if (known === undefined) {
      known = new Map()
      series.set(name, known)
    }
    const key = labels === undefined ? "" : Object.values(labels).join("\u0000")
    const found = known.get(key)
    if (found !== undefined) return found
    if (known.size >= maxSeries) {
      if (name !== "svc_metrics_dropped_total") metrics.count("svc_metrics_dropped_total")
      return undefined
    }
    const metric = labels === undefined ? make() : Metric.withAttributes(make(), labels)
    known.set(key, metric)
    return metric
  }

  const metrics: MetricsShape = {
    count: (name, labels, by = 1) => {
      const make = () => Metric.counter(name, { description: counters[name], incremental: true })
      seriesOf(name, make, labels)?.updateUnsafe(by, registry)
    },
    observe: (name, value, labels) => {
      const make = () => Metric.histogram(name, { description: histograms[name], boundaries: seconds })
      seriesOf(name, make, labels)?.updateUnsafe(value, registry)
    },
    gauge: (name, value, labels) => {
      const make = () => Metric.gauge(name, { description: gauges[name] })
      seriesOf(name, make, labels)?.updateUnsafe(value, registry)
    },
    sampled: (name, read, labels) => {
      const sample = () => metrics.gauge(name, read(), labels)
      samples.add(sample)
      return () => samples.delete(sample)
    },
    sample: Effect.sync(() => {
      for (const sample of samples) sample()
    }),
    text: Effect.gen(function* () {
      // its module brings Effect's HTTP router along: loaded by the first who asks
      const { formatUnsafe } = yield* Effect.promise(() => import("effect/observability/PrometheusMetrics"))
      yield* metrics.sample
      return formatUnsafe(registry)
    }),
  }
  return metrics
}

type Series = Metric.Metric<number, unknown>

const sampleProcess = (metrics: MetricsShape, lag: ELDHistogram): void => {
  metrics.gauge("process_start_time_seconds", performance.timeOrigin / 1_000)
  metrics.sampled("process_resident_memory_bytes", () => process.memoryUsage.rss())
  metrics.sampled("process_heap_bytes", () => process.memoryUsage().heapUsed)
  metrics.sampled("process_cpu_seconds", () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000_000
  })
  for (const percentile of [50, 99]) {
    const read = () => lag.percentile(percentile) / nanosInSecond
    metrics.sampled("svc_event_loop_lag_seconds", read, { quantile: String(percentile / 100) })
  }
  metrics.sampled(
    "svc_event_loop_lag_seconds",
    () => {
      const longest = lag.max / nanosInSecond
      lag.reset()
      return longest
    },
    { quantile: "1" },
  )
}
