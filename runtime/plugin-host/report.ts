/** What is said of plugins to whoever looks after the service. */
import { Schema } from "effect"
import { failures, modes } from "#core/hook/handler.ts"

/**
 * - `disabled`: switched off, by the settings, by an administrator, or by safe mode.
 * - `refused`: cannot be started as it is; the reasons say what to change.
 * - `quarantined`: failed to start, or failed too often.
 */
export const pluginStates = ["running", "disabled", "quarantined", "refused"] as const
export type PluginState = (typeof pluginStates)[number]

export const PluginReport = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  description: Schema.NullOr(Schema.String),
  /** `built-in`, a path, or `package …`. */
  source: Schema.String,
  kind: Schema.Literals(["built-in", "path", "package", "wasm"]),
  state: Schema.Literals(pluginStates),
  reasons: Schema.Array(Schema.String),
  requires: Schema.Array(Schema.String),
  /** What it owns or contributes; of a plugin that is not running, what it told of in advance. */
  events: Schema.Array(Schema.String),
  routes: Schema.Array(Schema.String),
  tools: Schema.Array(Schema.String),
  hooks: Schema.Array(
    Schema.Struct({
      question: Schema.String,
      priority: Schema.Finite,
      mode: Schema.Literals(modes),
      failure: Schema.Literals(failures),
    }),
  ),
  /** Faults since the service started. */
  faults: Schema.Int,
  /** ISO 8601; null where it is not running. */
  running_since: Schema.NullOr(Schema.String),
})
export type PluginReport = typeof PluginReport.Type

export const FaultReport = Schema.Struct({
  /** ISO 8601. */
  at: Schema.String,
  kind: Schema.Literals(["start", "request", "hook", "background"]),
  subject: Schema.String,
  message: Schema.String,
})
export type FaultReport = typeof FaultReport.Type

/** The same for one look at all of it. `degraded`: something that should run does not. */
export const PluginDiagnostics = Schema.Struct({
  status: Schema.Literals(["healthy", "degraded"]),
  safe_mode: Schema.Boolean,
  running: Schema.Int,
  disabled: Schema.Int,
  quarantined: Schema.Int,
  refused: Schema.Int,
  /** One line each: what is not as it should be, and what would help. */
  problems: Schema.Array(Schema.String),
})
export type PluginDiagnostics = typeof PluginDiagnostics.Type

export const diagnosticsOf = (
  reports: ReadonlyArray<PluginReport>,
  safeMode: boolean,
  unknownNames: ReadonlyArray<string>,
): PluginDiagnostics => {
  const inState = (state: PluginState) => reports.filter((report) => report.state === state)
  const broken = [...inState("quarantined"), ...inState("refused")]
  const behind = inState("running").filter(({ reasons }) => reasons.length > 0)
  const problems = [
    ...broken.map(({ name, state, reasons }) => `${name} is ${state}: ${reasons.join(" ")}`),
    ...behind.map(({ name, version, reasons }) => `${name} still runs as ${version}: ${reasons.join(" ")}`),
    ...unknownNames.map((name) => `Plugins:Enabled names ${name}, which is no plugin.`),
  ]
  return {
    status: problems.length === 0 ? "healthy" : "degraded",
    safe_mode: safeMode,
    running: inState("running").length,
    disabled: inState("disabled").length,
    quarantined: inState("quarantined").length,
    refused: inState("refused").length,
    problems,
  }
}
