/**
 * What the service counts. Every metric is in the table below with its kind and unit, so that a
 * misspelled name does not compile; labels are few and bounded (a route's pattern, never its path).
 *
 * Without an implementation nothing is counted, at no cost.
 */
import { Context, Effect } from "effect"

export const counters = {
  svc_http_requests_total: "Requests answered, by method, route and status.",
  svc_events_appended_total: "Events committed to the log.",
  svc_event_batches_total: "Group commits of the event log.",
  svc_streams_cut_total: "Streams ended because their reader was too slow.",
  svc_policy_answers_total: "Questions that plugins were asked, by plugin, question, mode and outcome.",
  svc_policy_faults_total: "Questions that plugins could not answer, by plugin and reason.",
  svc_policy_fuel_total: "Fuel that the answers of policies took, by plugin.",
  svc_metrics_dropped_total: "Values that were not counted, for too many label values.",
} as const

export const histograms = {
  svc_http_request_duration_seconds: "Seconds until the answer was sent, by method, route and status.",
  svc_policy_duration_seconds: "Seconds until a plugin had answered a question, by plugin and question.",
  svc_event_append_duration_seconds: "Seconds from an append to its commit.",
} as const

export const gauges = {
  svc_stream_subscribers: "Streams that are open on this replica.",
  svc_followed_runs: "Runs that are followed on this replica.",
  svc_database_connections: "Connections to the database, by state.",
  svc_database_waiting: "Statements that wait for a connection.",
  svc_event_loop_lag_seconds: "Lag of the event loop since it was last asked, by quantile.",
  process_resident_memory_bytes: "Resident memory of the process.",
  process_heap_bytes: "JavaScript heap in use.",
  process_cpu_seconds: "CPU time of the process since its start.",
  process_start_time_seconds: "Start of the process, in seconds since 1970.",
} as const

export type CounterName = keyof typeof counters
export type HistogramName = keyof typeof histograms
export type GaugeName = keyof typeof gauges
export type Labels = Readonly<Record<string, string>>

export interface MetricsShape {
  /** Adds one, or `by`. */
  readonly count: (name: CounterName, labels?: Labels, by?: number) => void
  /** One more value, in the unit that the name says. */
  readonly observe: (name: HistogramName, value: number, labels?: Labels) => void
  /** The value from now on. */
  readonly gauge: (name: GaugeName, value: number, labels?: Labels) => void
  /** Like `gauge`, for a value that is only read when somebody looks. Gives the way to stop it. */
  readonly sampled: (name: GaugeName, read: () => number, labels?: Labels) => () => void
  /** Reads the sampled values now, for exporters that do not ask by themselves. */
  readonly sample: Effect.Effect<void>
  /** All of it in the text format of Prometheus. */
  readonly text: Effect.Effect<string>
}

const nothing = () => {}

export const silentMetrics: MetricsShape = {
  count: nothing,
  observe: nothing,
  gauge: nothing,
  sampled: () => nothing,
  sample: Effect.void,
  text: Effect.succeed(""),
}

export const Metrics = Context.Reference<MetricsShape>("core/Metrics", { defaultValue: () => silentMetrics })
