/**
 * A plugin that was set up: what it contributed, and the scope that it lives in. Closing waits for the requests that
 * it still answers, for `drainLimit` at most.
 */
import { Cause, type Context, Deferred, Duration, Effect, Exit, Fiber, Option, Result, Scope } from "effect"
import { BackgroundFault, type Contribution, type CoreServices, type Plugin, PluginFailed } from "#core/plugin.ts"
import { inTime } from "#runtime/plugin-host/in-time.ts"

/** Time that a plugin has to be set up. */
const setupLimit = Duration.seconds(30)
/** Time that a plugin has to let go of what it holds. */
const closeLimit = Duration.seconds(10)
/** Time that requests in progress have before their plugin is closed under them. */
const drainLimit = Duration.seconds(5)

export interface Instance {
  readonly contribution: Contribution
  /** Runs a request of the plugin: it is waited for, and a defect in it is a fault. */
  readonly serve: (subject: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Something of the plugin threw outside of a request. */
  readonly faulted: (subject: string, error: unknown) => void
  /** Takes away all that the plugin opened and forked. Ends in time whatever the plugin does. */
  readonly close: Effect.Effect<void>
}

export interface Surroundings {
  readonly services: Context.Context<CoreServices>
  /** Of the host: what the plugin leaves behind when it does not stop ends here. */
  readonly scope: Scope.Scope
  readonly onFault: (kind: "request" | "background", subject: string, message: string) => void
}

export const setUp = Effect.fnUntraced(function* (
  plugin: Plugin,
  settings: unknown,
  { services, scope, onFault }: Surroundings,
): Effect.fn.Return<Instance, PluginFailed> {
  const own = yield* Scope.fork(scope)
  const labelled = Effect.annotateLogs({ plugin: plugin.name })
  const tell = (task: string, cause: unknown) => onFault("background", task, textOf(cause))
  const close = Scope.close(own, Exit.void).pipe(
    (closing) => inTime(closing, closeLimit, scope),
    Effect.flatMap((ended) =>
      Option.isSome(ended) && Exit.isSuccess(ended.value)
        ? Effect.void
        : Effect.logWarning("A plugin did not let go of what it holds", { plugin: plugin.name }),
    ),
  )
  const exit = yield* Effect.suspend(() => plugin.setup(settings)).pipe(
    Effect.provideService(BackgroundFault, tell),
    Scope.provide(own),
    Effect.provideContext(services),
    labelled,
    (effect) => inTime(effect, setupLimit, scope),
    Effect.onInterrupt(() => close),
  )
  if (Option.isNone(exit) || Exit.isFailure(exit.value)) {
    yield* close
    return yield* Option.isNone(exit)
      ? new PluginFailed({ message: `It was not set up within ${Duration.toSeconds(setupLimit)} s.` })
      : failureOf(exit.value)
  }
  watchFibers(own, tell)

  const requests = makeCounter()
  return {
    contribution: exit.value.value,
    serve: (subject) => (effect) =>
      requests.counted(
        labelled(
          Effect.tapCause(effect, (cause) =>
            Effect.sync(() => {
              if (Cause.hasDies(cause)) onFault("request", subject, textOf(cause))
            }),
          ),
        ),
      ),
    faulted: (subject, error) => onFault("request", subject, textOf(error)),
    close: requests.none.pipe(Effect.timeoutOption(drainLimit), Effect.andThen(close)),
  }
})

const failureOf = (exit: Exit.Exit<Contribution, PluginFailed>): PluginFailed => {
  const cause = Exit.isFailure(exit) ? exit.cause : Cause.empty
  const failure = Result.getOrUndefined(Cause.findError(cause))
  return failure instanceof PluginFailed ? failure : new PluginFailed({ message: `It threw: ${textOf(cause)}` })
}

const textOf = (cause: unknown): string => (Cause.isCause(cause) ? String(Cause.squash(cause)) : String(cause))

/** Fibers that were forked into the scope without `background`: one that fails is a fault as well. */
const watchFibers = (scope: Scope.Scope, tell: (task: string, cause: unknown) => void): void => {
  if (scope.state._tag !== "Open") return
  const { finalizerKey, finalizers } = scope.state
  for (const key of [finalizerKey, ...(finalizers?.keys() ?? [])]) {
    if (!Fiber.isFiber(key)) continue
    key.addObserver((exit) => {
      if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) tell("a fiber", exit.cause)
    })
  }
}

const makeCounter = () => {
  let running = 0
  let idle: Deferred.Deferred<void> | undefined
  const leave = Effect.suspend(() => {
    running--
    return running === 0 && idle !== undefined ? Deferred.succeed(idle, undefined) : Effect.void
  })
  return {
    counted: <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.suspend(() => {
        running++
        return Effect.ensuring(effect, leave)
      }),
    none: Effect.suspend(() => {
      if (running === 0) return Effect.void
      idle = Deferred.makeUnsafe<void>()
      return Deferred.await(idle)
    }),
  }
}
