/**
 * `Hooks` over the plugins of this process. Whatever plugins do, an ask ends with an answer by the rule of the
 * question's kind, and with a `runId` its record is committed before the answer is given. Shadows are asked
 * afterwards and recorded when they answer; at most `maxShadows` at once, the rest are left out.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { type AgentToolSource, AgentTools } from "#core/agent-tools.ts"
import type { NewEvent } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { type AnyQuestion, type AskAny, Hooks, hooksOf } from "#core/hook.ts"
import { Metrics } from "#core/ports/metrics.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"
import { type Call, makeCall, type Outcome } from "#runtime/plugin-host/hooks/call.ts"
import { askText, type Combined, combine } from "#runtime/plugin-host/hooks/combine.ts"
import { measureWith } from "#runtime/plugin-host/hooks/measure.ts"
import { decisionEvents, shadowEvents } from "#runtime/plugin-host/hooks/record.ts"
import { makeRegistry, type Registered, type Registry } from "#runtime/plugin-host/hooks/registry.ts"

/** Asks of shadows that run at once on this replica. */
const maxShadows = 64

export interface HookFailure {
  readonly plugin: string
  readonly question: string
  readonly reason: string
  readonly message: string
}

/** For the plugin host alone: whose handlers are asked. */
export class HookRegistry extends Context.Service<
  HookRegistry,
  Registry & {
    /** Called for every fault of a handler, but not for stand-ins that are meant to fail. */
    readonly onFault: (listener: (failure: HookFailure) => void) => Effect.Effect<void, never, Scope.Scope>
    /** Where the tools that agents are given come from, from now on until the scope closes. */
    readonly offerAgentTools: (source: AgentToolSource) => Effect.Effect<void, never, Scope.Scope>
  }
>()("runtime/plugin-host/HookRegistry") {}

/** With `AgentTools` as well: those that the plugin host offers. */
export const hooksLayer: Layer.Layer<Hooks | HookRegistry, never, EventLog> = Layer.effectContext(
  Effect.gen(function* () {
    const log = yield* EventLog
    const scope = yield* Effect.scope
    const registry = makeRegistry()
    const listeners = new Set<(failure: HookFailure) => void>()
    const measure = measureWith(yield* Metrics)
    const call = watched(makeCall(scope), measure, (failure) => {
      for (const listener of listeners) listener(failure)
    })
    let shadowing = 0
    let agentTools: AgentToolSource = () => []

    const record = Effect.fnUntraced(function* (runId: string, events: ReadonlyArray<NewEvent>) {
      // a run that was deleted meanwhile keeps nothing
      yield* Effect.catchTag(log.append(runId, events), "Refusal", ({ code }) =>
        Effect.logDebug("A policy decision has no run to be kept in", { run_id: runId, code }),
      )
    })

    const shadow = (question: AnyQuestion, by: Registered, text: string, active: unknown, runId?: string) =>
      Effect.gen(function* () {
        const outcome = yield* call(question, by, text)
        if (runId === undefined) return
        yield* record(runId, shadowEvents(question, text, active, outcome))
      }).pipe(
        Effect.catchTag("DatabaseUnavailable", (failure: DatabaseUnavailable) =>
          Effect.logWarning("The answer of a shadow policy is lost", { plugin: by.plugin, reason: failure.reason }),
        ),
      )

    const ask: AskAny = Effect.fn("Hooks.ask")(function* (question, input, { runId }) {
      const held = registry.hold(question.name)
      const release = holding(held.release)
      return yield* Effect.gen(function* () {
        if (runId === undefined && held.enforced.length + held.shadows.length === 0) return question.builtIn(input)
        const started = performance.now()
        const combined: Combined = yield* combine(question, input, held.enforced, call)
        const text = askText(question, input)
        if (runId !== undefined) {
          yield* record(runId, decisionEvents(question, text, combined, performance.now() - started))
        }
        if (combined.refusal !== undefined) return yield* combined.refusal
        for (const by of held.shadows) {
          if (shadowing >= maxShadows) continue
          shadowing++
          release.more()
          yield* shadow(question, by, text, combined.answer, runId).pipe(
            Effect.ensuring(
              Effect.sync(() => {
                shadowing--
                release.one()
              }),
            ),
            Effect.forkIn(scope),
          )
        }
        return combined.answer
      }).pipe(Effect.ensuring(Effect.sync(release.one)))
    })

    return Context.make(Hooks, hooksOf(ask)).pipe(
      Context.add(AgentTools, (run) => agentTools(run)),
      Context.add(HookRegistry, {
        ...registry,
        onFault: (listener) =>
          Effect.acquireRelease(
            Effect.sync(() => listeners.add(listener)),
            () => Effect.sync(() => listeners.delete(listener)),
          ),
        offerAgentTools: (source) =>
          Effect.acquireRelease(
            Effect.sync(() => (agentTools = source)),
            () => Effect.sync(() => (agentTools = () => [])),
          ),
      }),
    )
  }),
)

/** Releases once, when the ask and all its shadows are done. */
const holding = (release: () => void) => {
  let holders = 1
  return {
    more: () => {
      holders++
    },
    one: () => {
      holders--
      if (holders === 0) release()
    },
  }
}

/** Each answer is measured; each fault leaves a line in the service's log and is told to whoever counts them. */
const watched =
  (call: Call, measure: (question: string, outcome: Outcome) => void, tell: (failure: HookFailure) => void): Call =>
  (question, by, text) =>
    Effect.tap(call(question, by, text), (outcome: Outcome) => {
      measure(question.name, outcome)
      if (outcome._tag !== "Faulted" || outcome.fault.reason === "unavailable") return Effect.void
      const { reason, message } = outcome.fault
      tell({ plugin: by.plugin, question: question.name, reason, message })
      return Effect.logWarning("A plugin could not answer", {
        plugin: by.plugin,
        question: question.name,
        mode: by.mode,
        reason,
        problem: message,
      })
    })
