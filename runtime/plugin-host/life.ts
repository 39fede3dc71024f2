/**
 * How a plugin starts, is exchanged and ends. What takes effect does so at once and all together (state, routes,
 * handlers); only setting up and closing take time. Whoever calls sees to it that one of these runs at a time;
 * `fault` may come at any moment.
 */
import { type Context, Effect, Queue, Result, type Scope } from "effect"
import type { AnyQuestion } from "#core/hook.ts"
import type { CoreServices } from "#core/plugin.ts"
import type { SettingsValues } from "#core/settings.ts"
import type { Candidate } from "#runtime/plugin-host/candidate.ts"
import { clashes, ownProblems, readSettings } from "#runtime/plugin-host/check.ts"
import { contributionProblems } from "#runtime/plugin-host/contribution.ts"
import type { Entry } from "#runtime/plugin-host/entry.ts"
import { type Fault, faultLimit, faultWindow } from "#runtime/plugin-host/fault-log.ts"
import type { Registered, Registry } from "#runtime/plugin-host/hooks/registry.ts"
import { type Instance, setUp } from "#runtime/plugin-host/instance.ts"
import { migratePlugin } from "#runtime/plugin-host/migrations.ts"
import type { PluginState } from "#runtime/plugin-host/report.ts"
import type { RouteTable } from "#runtime/plugin-host/route-table.ts"
import { standIns } from "#runtime/plugin-host/stand-in.ts"
import { registerSecrets } from "#runtime/settings/load.ts"

export interface LifeOptions {
  readonly settings: SettingsValues["Plugins"]
  readonly version: string
  readonly questions: ReadonlyArray<AnyQuestion>
  readonly coreEvents: ReadonlyArray<string>
  readonly services: Context.Context<CoreServices>
  readonly registry: Registry
  readonly scope: Scope.Scope
  readonly table: RouteTable
  /** In order of precedence; the host adds and removes. */
  readonly entries: ReadonlyArray<Entry>
  readonly now: () => number
  /** Something ended by itself. */
  readonly changed: Effect.Effect<void>
}

/** Why a plugin does not run. */
interface Hindrance {
  readonly state: Extract<PluginState, "refused" | "quarantined">
  readonly reasons: ReadonlyArray<string>
}

interface Ready {
  readonly instance: Instance
  readonly handlers: ReadonlyArray<Registered>
}

export const makeLife = Effect.fnUntraced(function* (options: LifeOptions) {
  const { registry, table, entries, version, scope } = options
  const afterwards = yield* Queue.unbounded<Effect.Effect<void>>()
  yield* Queue.take(afterwards).pipe(
    Effect.flatMap((effect) => Effect.forkIn(effect, scope)),
    Effect.forever,
    Effect.forkIn(scope),
  )

  /** The first of a name has it; a later one is in the list, and nothing else. */
  const hasItsName = (entry: Entry): boolean =>
    entries.find(({ candidate }) => candidate.plugin.name === entry.candidate.plugin.name) === entry

  const requirementProblems = ({ plugin }: Candidate): ReadonlyArray<string> =>
    (plugin.requires ?? []).flatMap((name) => {
      const required = entries.find(({ candidate }) => candidate.plugin.name === name)
      if (required === undefined) return [`It requires ${name}, which is not there.`]
      return required.state === "running"
        ? []
        : [`It requires ${name}, which is ${required.state}: ${required.reasons.join(" ")}`]
    })

  /** Everything up to the moment where it would take effect. Leaves nothing behind where there is a hindrance. */
  const prepare = (entry: Entry, candidate: Candidate): Effect.Effect<Result.Result<Ready, Hindrance>> =>
    Effect.catchDefect(attempt(entry, candidate), (defect) =>
      Effect.succeed(
        Result.fail({ state: "quarantined", reasons: [`It is not made as a plugin is: ${String(defect)}`] }),
      ),
    )

  const attempt = Effect.fnUntraced(function* (
    entry: Entry,
    candidate: Candidate,
  ): Effect.fn.Return<Result.Result<Ready, Hindrance>> {
    const { plugin } = candidate
    const refused = (reasons: ReadonlyArray<string>) => Result.fail<Hindrance>({ state: "refused", reasons })
    const failed = (reason: string) => Result.fail<Hindrance>({ state: "quarantined", reasons: [reason] })

    const place = entries.indexOf(entry)
    const holders = entries.filter(
      (other, index) =>
        other !== entry &&
        (other.candidate.plugin.name === plugin.name
          ? index < place
          : other.state === "running" || other.state === "quarantined"),
    )
    const problems = [
      ...ownProblems(candidate, options),
      ...clashes(
        candidate,
        holders.map((other) => other.candidate),
        options,
      ),
      ...requirementProblems(candidate),
    ]
    if (problems.length > 0) return refused(problems)
    const settings = readSettings(plugin, options.settings.Settings)
    if (Result.isFailure(settings)) return refused(settings.failure)
    registerSecrets(settings.success)

    const { name } = plugin
    const made = yield* migratePlugin(plugin).pipe(
      Effect.provideContext(options.services),
      Effect.andThen(
        setUp(plugin, settings.success, {
          services: options.services,
          scope,
          onFault: (kind, subject, message) => fault(name, kind, subject, message),
        }),
      ),
      Effect.result,
    )
    if (Result.isFailure(made)) {
      note(entry, { kind: "start", subject: name, message: made.failure.message })
      return failed(`It could not start: ${made.failure.message}`)
    }
    const instance = made.success
    const unfit = yield* contributionProblems(plugin, instance.contribution, options, {
      ofRoute: table.ownerOf,
      ofTool: (tool) => toolOwner(tool, entry),
    })
    if (unfit.length > 0) {
      yield* instance.close
      return refused(unfit)
    }
    const handlers = (instance.contribution.hooks ?? []).map(
      (handler): Registered => ({ ...handler, plugin: name, version: handler.version ?? plugin.version ?? version }),
    )
    return Result.succeed({ instance, handlers })
  })

  const toolOwner = (tool: string, entry: Entry): string | undefined =>
    entries.find((other) => other !== entry && other.contribution?.tools?.some(({ name }) => name === tool))?.candidate
      .plugin.name

  /** The new one answers from here on; what answered before is closed after its last answer. */
  const takeEffect = (entry: Entry, candidate: Candidate, { instance, handlers }: Ready): void => {
    const { name } = candidate.plugin
    const before = entry.instance
    Object.assign(entry, {
      candidate,
      state: "running",
      reasons: [],
      instance,
      handlers,
      contribution: instance.contribution,
      since: options.now(),
    } satisfies Partial<Entry>)
    entry.faults.forgive()
    table.serve(
      name,
      (instance.contribution.routes ?? []).map((route) => ({
        route,
        run: instance.serve(`${route.method} ${route.path}`),
      })),
    )
    const { unused } = registry.replace(name, handlers)
    if (before !== undefined) closeLater(unused, before)
  }

  /** What keeps a plugin that should run from running must not open what it guards. */
  const takeOut = (entry: Entry, state: Exclude<PluginState, "running">, reasons: ReadonlyArray<string>): void => {
    const { plugin } = entry.candidate
    const before = entry.instance
    Object.assign(entry, { state, reasons, instance: undefined, since: undefined } satisfies Partial<Entry>)
    if (!hasItsName(entry)) return
    if (state === "disabled") table.remove(plugin.name)
    else table.suspend(plugin.name, plugin.routes ?? [])
    const left =
      state === "disabled" ? [] : standIns(plugin, plugin.version ?? version, entry.handlers, options.questions)
    if (state === "disabled") Object.assign(entry, { handlers: undefined, contribution: undefined })
    const { unused } = registry.replace(plugin.name, left)
    if (before !== undefined) closeLater(unused, before)
  }

  const closeLater = (unused: Effect.Effect<void>, instance: Instance): void => {
    // a plugin whose answers never end is closed all the same
    Queue.offerUnsafe(afterwards, unused.pipe(Effect.timeoutOption("10 seconds"), Effect.andThen(instance.close)))
  }

  const note = (entry: Entry, about: Omit<Fault, "at">): boolean => {
    entry.faultCount++
    return entry.faults.add({ ...about, at: options.now() })
  }

  const fault = (plugin: string, kind: Fault["kind"], subject: string, message: string): void => {
    const entry = entries.find(({ candidate }) => candidate.plugin.name === plugin)
    if (entry === undefined || !note(entry, { kind, subject, message }) || entry.state !== "running") return
    const reason = `It failed ${faultLimit} times in ${faultWindow / 1_000} s, the last time in ${subject}: ${message}`
    takeOut(entry, "quarantined", [reason])
    Queue.offerUnsafe(afterwards, Effect.andThen(told(plugin, "quarantined", [reason]), options.changed))
  }

  const told = (plugin: string, state: PluginState, reasons: ReadonlyArray<string>) =>
    Effect.logError("A plugin does not run", { plugin, state, reasons })

  const hinder = Effect.fnUntraced(function* (entry: Entry, { state, reasons }: Hindrance) {
    takeOut(entry, state, reasons)
    yield* told(entry.candidate.plugin.name, state, reasons)
  })

  return {
    fault,
    /** True when it runs. */
    start: Effect.fn("Plugin.start")(function* (entry: Entry) {
      const { candidate } = entry
      const ready = yield* prepare(entry, candidate)
      if (Result.isFailure(ready)) yield* hinder(entry, ready.failure)
      else takeEffect(entry, candidate, ready.success)
      return Result.isSuccess(ready)
    }),
    /** Why not, where it was not; then the one that runs goes on. */
    exchange: Effect.fn("Plugin.exchange")(function* (entry: Entry, candidate: Candidate) {
      const ready = yield* prepare(entry, candidate)
      if (Result.isFailure(ready)) return ready.failure.reasons
      takeEffect(entry, candidate, ready.success)
      return []
    }),
    refuse: (entry: Entry, reasons: ReadonlyArray<string>) => hinder(entry, { state: "refused", reasons }),
    stop: (entry: Entry, reasons: ReadonlyArray<string>) => Effect.sync(() => takeOut(entry, "disabled", reasons)),
  }
})
