/**
 * What a plugin is. It declares what can be read without running it, and contributes inside a Scope of its
 * own: closing the scope takes away all that it contributed. A plugin of this kind is code of this process:
 * what it may use is said by types, which keeps honest authors right and stops nobody else.
 */
import { Cause, Context, Duration, Effect, Schedule, Schema, type Scope } from "effect"
import type { AgentToolSource } from "#core/agent-tools.ts"
import type { Access } from "#core/auth/access.ts"
import type { EventType } from "#core/event.ts"
import type { EventLog } from "#core/event-log.ts"
import type { HookHandler } from "#core/hook/handler.ts"
import type { Hooks } from "#core/hook.ts"
import type { Migration } from "#core/migrate.ts"
import type { Projects } from "#core/project/projects.ts"
import type { Method, Route } from "#core/route.ts"
import type { Runs } from "#core/run/runs.ts"
import type { Settings } from "#core/settings.ts"
import type { Sql } from "#core/sql.ts"
import type { Tool } from "#core/tool.ts"

/** What a plugin may use of the core. Metrics are there as well, by `Metrics` of core/ports/metrics.ts. */
export type CoreServices = Sql | EventLog | Runs | Projects | Access | Hooks | Settings

/** The plugin cannot start, for a reason that whoever runs the service can do something about. */
export class PluginFailed extends Schema.TaggedError<PluginFailed>()("PluginFailed", { message: Schema.String }) {}

export interface Contribution {
  readonly routes?: ReadonlyArray<Route>
  readonly tools?: ReadonlyArray<Tool>
  readonly hooks?: ReadonlyArray<HookHandler>
  /** Tools for the agents of runs: they act in this process, without a route. Asked for at the start of each turn. */
  readonly agentTools?: AgentToolSource
}

/** `GET /api/skills/{id}`. */
export type RouteName = `${Method} /${string}`

export interface PluginSpec<Settings> {
  /** Kebab-case: the key of its settings, the label of its log lines, the prefix of its tables. */
  readonly name: string
  /** Semantic version. A built-in plugin has that of the service. */
  readonly version?: string
  readonly description?: string
  /** Versions of the service that it works with: a semver range. Absent: any. */
  readonly engine?: string
  /** The section `Plugins.Settings.<name>`. Absent: the plugin has no settings. */
  readonly settings?: Schema.Codec<Settings, unknown>
  /** The event types that it owns. */
  readonly events?: ReadonlyArray<Pick<EventType, "type">>
  /** A folder (absolute) of numbered SQL files, or the steps themselves. Every table begins with `tablePrefix`. */
  readonly migrations?: string | ReadonlyArray<Migration>
  /** Plugins whose routes or events it relies on: they are started before it. */
  readonly requires?: ReadonlyArray<string>
  /** The routes that it will contribute: told in advance, they answer 503 also where it never came to start. */
  readonly routes?: ReadonlyArray<RouteName>
  /**
   * The questions that it will answer. Those that must not be left out (guards, and decisions that fail closed)
   * have to be told in advance, so that they are refused where it never came to start.
   */
  readonly hooks?: ReadonlyArray<string>
  /** Opens what it needs in its scope, forks what runs by itself (`background`), and says what it contributes. */
  readonly setup: (settings: Settings) => Effect.Effect<Contribution, PluginFailed, CoreServices | Scope.Scope>
}

/** A plugin whose types the compiler has checked; the host needs to know no more. */
// biome-ignore lint/suspicious/noExplicitAny: the contract is where the types of one plugin's settings end
export type Plugin = PluginSpec<any>

export const definePlugin = <Settings = undefined>(spec: PluginSpec<Settings>): Plugin => spec

/** As a name of a plugin: `change-freeze`. At most 40 characters, so that a table's name has room beside it. */
export const pluginNameForm = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/
export const maxPluginName = 40

/** What the names of the plugin's tables, indexes, types and functions begin with. */
export const tablePrefix = (name: string): string => `${name.replaceAll("-", "_")}_`

/** Told of each failure of a plugin's background task. The host listens; without one nobody does. */
export const BackgroundFault = Context.Reference<(task: string, cause: unknown) => void>("core/BackgroundFault", {
  defaultValue: () => () => {},
})

const firstRestart = Duration.seconds(1)
const slowestRestart = Duration.seconds(30)

/**
 * Runs a task beside the plugin until its scope closes. Where the task fails it is started again, after 1 s,
 * then 2 s, up to 30 s, and each failure counts as a fault of the plugin; where it ends, it has ended.
 */
export const background = <A, E, R>(
  task: string,
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const tell = yield* BackgroundFault
    yield* effect.pipe(
      Effect.tapCause((cause) => Effect.sync(() => (Cause.hasInterruptsOnly(cause) ? undefined : tell(task, cause)))),
      Effect.sandbox,
      Effect.retry(Schedule.min([Schedule.exponential(firstRestart), Schedule.spaced(slowestRestart)])),
      Effect.ignore,
      Effect.forkScoped,
    )
  })
