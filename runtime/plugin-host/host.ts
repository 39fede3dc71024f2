/**
 * Runs the plugins: starts those that are enabled, each in a scope of its own, and takes out those that fail.
 * A plugin that cannot start, or that faults 5 times in 60 s, costs the service that plugin and nothing else: its
 * routes answer 503 with its name, its guards refuse, the reasons are kept. What is switched here lasts as long as
 * this process; administration.ts makes it last.
 *
 * An exchange sets up the new plugin first, hands over in one step, and closes the old one after its last answer.
 */
import { Context, Effect, Layer, Semaphore, type Stream, SubscriptionRef } from "effect"
import type { AnyQuestion } from "#core/hook.ts"
import type { CoreServices } from "#core/plugin.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import type { Route } from "#core/route.ts"
import type { SettingsValues } from "#core/settings.ts"
import type { Tool } from "#core/tool.ts"
import { agentToolsOf } from "#runtime/plugin-host/agent-tools.ts"
import { type Candidate, isThirdParty } from "#runtime/plugin-host/candidate.ts"
import { type Entry, entryOf, reportOf } from "#runtime/plugin-host/entry.ts"
import { HookRegistry } from "#runtime/plugin-host/hooks/layer.ts"
import { makeLife } from "#runtime/plugin-host/life.ts"
import { startOrder } from "#runtime/plugin-host/order.ts"
import {
  diagnosticsOf,
  type FaultReport,
  type PluginDiagnostics,
  type PluginReport,
} from "#runtime/plugin-host/report.ts"
import { makeRouteTable, type Place } from "#runtime/plugin-host/route-table.ts"

export interface PluginHostOptions {
  /** Every plugin that could run: the built-in ones first. */
  readonly candidates: ReadonlyArray<Candidate>
  readonly settings: SettingsValues["Plugins"]
  /** Of the service. */
  readonly version: string
  readonly questions: ReadonlyArray<AnyQuestion>
  /** What plugins cannot have: the core's own routes and event types. */
  readonly coreRoutes: ReadonlyArray<Place>
  readonly coreEvents: ReadonlyArray<string>
  /** Third-party plugins stay off, whatever the settings say. */
  readonly safeMode?: boolean
  /** Plugins that were switched on or off, whatever the settings say. */
  readonly switches?: ReadonlyMap<string, boolean>
}

/** A tool with its plugin and the route that answers it. */
export interface HostedTool {
  readonly plugin: string
  readonly tool: Tool
  readonly route: Route
}

export interface PluginHostShape {
  /** Starts what is enabled, each after what it requires. Once; it never fails. The core's tables must be there. */
  readonly start: Effect.Effect<void>
  /** What the gateway mounts beside the core's own. They stay valid while plugins come and go. */
  readonly routes: Effect.Effect<ReadonlyArray<Route>>
  readonly tools: Effect.Effect<ReadonlyArray<HostedTool>>
  /** Counts up whenever routes or tools may have changed: mount them again. Begins with the current count. */
  readonly changes: Stream.Stream<number>
  readonly list: Effect.Effect<ReadonlyArray<PluginReport>>
  readonly diagnostics: Effect.Effect<PluginDiagnostics>
  readonly faults: (name: string) => Effect.Effect<ReadonlyArray<FaultReport>, Refusal>
  /** Starts it, also out of quarantine; a running one is left as it is. Fails with `plugin_not_startable` and the reasons. */
  readonly enable: (name: string) => Effect.Effect<PluginReport, Refusal>
  /** Fails with `plugin_required` where a running plugin relies on it. */
  readonly disable: (name: string) => Effect.Effect<PluginReport, Refusal>
  /** Sets it up anew and exchanges it. Where that fails the running one stays. */
  readonly reload: (name: string) => Effect.Effect<PluginReport, Refusal>
  /**
   * Makes the plugin of that name and source kind what the candidate is: added, exchanged, or stopped where it is off. Fails with
   * `plugin_not_startable` where it should run and does not: with a problem of its own its guards are closed; where it only cannot
   * take over, the one before goes on.
   */
  readonly install: (candidate: Candidate) => Effect.Effect<PluginReport, Refusal>
  /** Stops a policy that was installed, and forgets it. */
  readonly uninstall: (name: string) => Effect.Effect<void, Refusal>
}

export class PluginHost extends Context.Service<PluginHost, PluginHostShape>()("runtime/plugin-host/PluginHost") {
  static readonly layer = (options: PluginHostOptions): Layer.Layer<PluginHost, never, CoreServices | HookRegistry> =>
    Layer.effect(PluginHost, makeHost(options))
}

const makeHost = Effect.fnUntraced(function* (options: PluginHostOptions) {
  const { settings, version, safeMode = false } = options
  const registry = yield* HookRegistry
  const scope = yield* Effect.scope
  const clock = yield* Effect.clockWith(Effect.succeed)
  const revision = yield* SubscriptionRef.make(0)
  const one = yield* Semaphore.make(1)
  const table = makeRouteTable(options.coreRoutes)
  const entries: Array<Entry> = options.candidates.map(entryOf)
  const changed = SubscriptionRef.update(revision, (count) => count + 1)
  const life = yield* makeLife({
    ...options,
    services: yield* Effect.context<CoreServices>(),
    registry,
    scope,
    table,
    entries,
    now: () => clock.currentTimeMillisUnsafe(),
    changed,
  })
  yield* registry.onFault(({ plugin, question, reason, message }) =>
    life.fault(plugin, "hook", question, `${reason}: ${message}`),
  )

  yield* registry.offerAgentTools((run) => agentToolsOf(entries, run))

  /** Why it is not to run; undefined where it is. */
  const offReason = (candidate: Candidate): string | undefined => {
    const { plugin, source, off } = candidate
    if (off !== undefined) return off
    if (safeMode && isThirdParty(candidate)) return "The service runs in safe mode, without third-party plugins."
    const switched = options.switches?.get(plugin.name)
    if (switched === false) return switchedOff
    // what is installed is switched where it is installed, not by the settings
    if (switched === true || source.kind === "wasm" || settings.Enabled.length === 0) return undefined
    return settings.Enabled.includes(plugin.name) ? undefined : "Plugins:Enabled does not name it."
  }

  const start = Effect.gen(function* () {
    const reasons = entries.map((entry) => [entry, offReason(entry.candidate)] as const)
    for (const [entry, reason] of reasons) if (reason !== undefined) entry.reasons = [reason]
    const enabled = reasons.flatMap(([entry, reason]) => (reason === undefined ? [entry] : []))
    const { order, circles } = startOrder(enabled.map(({ candidate }) => candidate))
    for (const candidate of order) {
      const entry = enabled.find((each) => each.candidate === candidate)
      const circle = circles.get(candidate)
      if (entry === undefined) continue
      if (circle !== undefined) yield* life.refuse(entry, [circle])
      else yield* life.start(entry)
    }
    yield* changed
  }).pipe(one.withPermits(1), Effect.withSpan("PluginHost.start"))

  const find = (name: string): Effect.Effect<Entry, Refusal> => {
    const entry = entries.find(({ candidate }) => candidate.plugin.name === name)
    return entry === undefined ? refuse("plugin_not_found") : Effect.succeed(entry)
  }

  /** One change at a time; each ends with what the plugin is then. */
  const change = (
    name: string,
    effect: (entry: Entry) => Effect.Effect<void, Refusal>,
  ): Effect.Effect<PluginReport, Refusal> =>
    find(name).pipe(
      Effect.tap(effect),
      Effect.ensuring(changed),
      Effect.map((entry) => reportOf(entry, version)),
      one.withPermits(1),
    )

  const started = Effect.fnUntraced(function* (entry: Entry) {
    if (yield* life.start(entry)) return
    return yield* notStartable(entry.candidate.plugin.name, entry.reasons)
  })

  const disable = Effect.fnUntraced(function* (entry: Entry) {
    const { name } = entry.candidate.plugin
    const dependents = entries.filter(
      ({ state, candidate }) => state === "running" && (candidate.plugin.requires ?? []).includes(name),
    )
    if (entry.state === "running" && dependents.length > 0) {
      const names = dependents.map(({ candidate }) => candidate.plugin.name)
      return yield* refuse("plugin_required", {
        message: `${name} is required by ${names.join(", ")}: disable ${names.length === 1 ? "it" : "them"} first.`,
        extra: { required_by: names },
      })
    }
    yield* life.stop(entry, [switchedOff])
  })

  const exchange = Effect.fnUntraced(function* (entry: Entry, candidate: Candidate) {
    const reasons = yield* life.exchange(entry, candidate)
    if (reasons.length > 0) return yield* notStartable(candidate.plugin.name, reasons)
  })

  return PluginHost.of({
    start,
    routes: Effect.sync(table.mounted),
    tools: Effect.sync(() => entries.flatMap(toolsOf)),
    changes: SubscriptionRef.changes(revision),
    list: Effect.sync(() => entries.map((entry) => reportOf(entry, version))),
    diagnostics: Effect.sync(() => {
      const names = new Set(entries.map(({ candidate }) => candidate.plugin.name))
      const unknown = settings.Enabled.filter((name) => !names.has(name))
      return diagnosticsOf(
        entries.map((entry) => reportOf(entry, version)),
        safeMode,
        unknown,
      )
    }),
    faults: (name) =>
      Effect.map(find(name), ({ faults }) =>
        faults.latest().map((fault) => ({ ...fault, at: new Date(fault.at).toISOString() })),
      ),
    enable: (name) =>
      change(name, (entry) => {
        if (entry.state === "running") return Effect.void
        const { off } = entry.candidate
        return off === undefined ? started(entry) : notStartable(name, [off])
      }),
    disable: (name) => change(name, disable),
    reload: (name) =>
      change(name, (entry) => {
        if (entry.state === "running") return exchange(entry, entry.candidate)
        const { off } = entry.candidate
        return off === undefined ? started(entry) : notStartable(name, [off])
      }),
    install: (candidate) =>
      Effect.suspend(() => {
        const { name } = candidate.plugin
        if (!entries.some((entry) => entry.candidate.plugin.name === name)) entries.push(entryOf(candidate))
        return change(name, (entry) => {
          if (entry.candidate.source.kind !== candidate.source.kind) {
            return notStartable(name, [`A plugin of that name is there already, from another source.`])
          }
          const off = offReason(candidate)
          if (off === undefined && candidate.problem === undefined && entry.state === "running") {
            const stays = (message: string) => [
              `${candidate.plugin.version ?? "Another one"} cannot take over: ${message}`,
            ]
            return Effect.tapError(exchange(entry, candidate), ({ message }) =>
              Effect.sync(() => (entry.reasons = stays(message))),
            )
          }
          entry.candidate = candidate
          // its questions are as the candidate tells them; a shadow of before closes nothing now
          entry.handlers = entry.handlers?.filter(({ mode }) => mode === "enforce")
          return off === undefined ? started(entry) : life.stop(entry, [off])
        })
      }),
    uninstall: (name) =>
      Effect.suspend(() => {
        const entry = entries.find(
          ({ candidate: { plugin, source } }) => source.kind === "wasm" && plugin.name === name,
        )
        if (entry === undefined) return refuse("plugin_not_found")
        return Effect.tap(disable(entry), () => Effect.sync(() => entries.splice(entries.indexOf(entry), 1)))
      }).pipe(Effect.ensuring(changed), one.withPermits(1)),
  })
})

const toolsOf = ({ state, candidate, contribution }: Entry): ReadonlyArray<HostedTool> =>
  state !== "running"
    ? []
    : (contribution?.tools ?? []).flatMap((tool) => {
        const route = contribution?.routes?.find(({ method, path }) => method === tool.method && path === tool.path)
        return route === undefined ? [] : [{ plugin: candidate.plugin.name, tool, route }]
      })

const switchedOff = "An administrator switched it off."

const notStartable = (name: string, reasons: ReadonlyArray<string>): Refusal =>
  refuse("plugin_not_startable", { message: `${name}: ${reasons.join(" ")}`, extra: { plugin: name, reasons } })
