/** One plugin as the host keeps it. */
import type { Candidate } from "#runtime/plugin-host/candidate.ts"
import { type FaultLog, makeFaultLog } from "#runtime/plugin-host/fault-log.ts"
import type { Registered } from "#runtime/plugin-host/hooks/registry.ts"
import type { Instance } from "#runtime/plugin-host/instance.ts"
import type { PluginReport, PluginState } from "#runtime/plugin-host/report.ts"

export interface Entry {
  candidate: Candidate
  state: PluginState
  reasons: ReadonlyArray<string>
  /** While it runs. */
  instance: Instance | undefined
  /** Its handlers while it runs, or when it last did. */
  handlers: ReadonlyArray<Registered> | undefined
  /** What it contributed when it last ran. */
  contribution: Instance["contribution"] | undefined
  /** Milliseconds since 1970. */
  since: number | undefined
  faultCount: number
  readonly faults: FaultLog
}

export const entryOf = (candidate: Candidate): Entry => ({
  candidate,
  state: "disabled",
  reasons: [],
  instance: undefined,
  handlers: undefined,
  contribution: undefined,
  since: undefined,
  faultCount: 0,
  faults: makeFaultLog(),
})

export const reportOf = (entry: Entry, version: string): PluginReport => {
  const { candidate, contribution, handlers } = entry
  const { plugin, source } = candidate
  return {
    name: plugin.name,
    version: plugin.version ?? version,
    description: plugin.description ?? null,
    source: source.kind === "built-in" ? "built-in" : source.kind === "package" ? source.package : source.path,
    kind: source.kind,
    state: entry.state,
    reasons: entry.reasons,
    requires: plugin.requires ?? [],
    events: (plugin.events ?? []).map(({ type }) => type),
    routes: contribution?.routes?.map(({ method, path }) => `${method} ${path}`) ?? plugin.routes ?? [],
    tools: contribution?.tools?.map(({ name }) => name) ?? [],
    hooks: (handlers ?? []).map(({ question, priority, mode, failure }) => ({ question, priority, mode, failure })),
    faults: entry.faultCount,
    running_since: entry.since === undefined ? null : new Date(entry.since).toISOString(),
  }
}
