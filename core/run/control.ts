/**
 * What people decide about a running run: approvals, answers, switches. Each decision is an event of the
 * run's log, made while the run's row is held, so that of two that contradict each other exactly one
 * counts; any replica can take it. It asks nothing by itself and runs no tool.
 */
import { Context, Effect, Layer } from "effect"
import type { NewEvent } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import { type Decided, decideAnswer, decideShell, decideTool, scopeOf } from "#core/run/control/decide.ts"
import { makeControlDesk, maxLineage } from "#core/run/control/desk.ts"
import { bareHash } from "#core/run/control/state.ts"
import { autoApproves, type ControlView, runsOnAutopilot } from "#core/run/control/verdict.ts"
import { AutoApproveChanged, AutopilotChanged } from "#core/run/events/control.ts"
import { makeWorkStore } from "#core/run/work-store.ts"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"

type Answer<A> = Effect.Effect<A, Refusal | DatabaseUnavailable>

/** `runId` is the run that waited: a child's, where the coordinator was asked. */
export interface Outcome extends Omit<Decided, "events"> {
  readonly runId: string
}

export interface RunControlShape {
  readonly approveTool: (runId: string, requestId: string, scope: string | null, by: string) => Answer<Outcome>
  readonly denyTool: (runId: string, requestId: string, by: string) => Answer<Outcome>
  readonly approveShell: (runId: string, commandHash: string, by: string) => Answer<Outcome>
  readonly denyShell: (runId: string, commandHash: string, by: string) => Answer<Outcome>
  /** Gives the id of the run that had asked. */
  readonly answer: (runId: string, requestId: string, text: string, by: string) => Answer<string>
  /** Gives the switch as it is then. A child cannot be switched on where its parent is off. */
  readonly setAutoApprove: (runId: string, enabled: boolean, by: string) => Answer<boolean>
  readonly setAutopilot: (runId: string, enabled: boolean, by: string) => Answer<boolean>
  /** The run's control with that of the runs above it, for `verdict`. */
  readonly view: (runId: string) => Answer<ControlView>
}

export class RunControl extends Context.Service<RunControl, RunControlShape>()("core/RunControl") {
  static readonly layer = Layer.effect(
    RunControl,
    Effect.gen(function* () {
      const sql = yield* Sql
      const log = yield* EventLog
      const { read, hold, deciding, view, family } = makeControlDesk(sql, log)
      const { wake } = makeWorkStore(sql)

      /** The run that waits with this request: this one, or a run below it that told it so. */
      const ownerOf = Effect.fnUntraced(function* (runId: string, requestId: string) {
        let owner = runId
        for (let level = 0; level < maxLineage; level++) {
          const { state } = yield* read(owner)
          if (state.tools.has(requestId) || state.questions.has(requestId)) return owner
          const child = state.children.get(requestId)
          if (child === undefined) return runId
          owner = child
        }
        return runId
      })

      /** The run that waits with this command, else one that did: this one, or a run below it that told it so. */
      const shellOwnerOf = Effect.fnUntraced(function* (runId: string, commandHash: string) {
        const hash = bareHash(commandHash)
        let level: ReadonlyArray<string> = [runId]
        let decided: string | undefined
        for (let depth = 0; depth < maxLineage && level.length > 0; depth++) {
          const states = yield* Effect.forEach(level, read)
          const found = states.findIndex(({ state }) => state.shell.get(hash)?.state === "pending")
          if (found >= 0) return level[found] ?? runId
          decided ??= level[states.findIndex(({ state }) => state.shell.has(hash))]
          level = [...new Set(states.flatMap(({ state }) => [...state.children.values()]))]
        }
        return decided ?? runId
      })

      /** What was decided for more than one call may be what others wait for. */
      const wakeFamily = Effect.fnUntraced(function* (runId: string) {
        yield* Effect.forEach(yield* family(runId), wake, { discard: true })
      })

      const decideToolOf = Effect.fnUntraced(function* (
        runId: string,
        requestId: string,
        choice: "approved" | "denied",
        scope: string | null,
        by: string,
      ) {
        const owner = yield* ownerOf(runId, requestId)
        const { state, applied } = yield* deciding(owner, (control, now) =>
          decideTool(control, requestId, choice, scopeOf(scope), by, now),
        )
        yield* choice === "approved" && scopeOf(scope) !== "once" ? wakeFamily(owner) : wake(owner)
        return { runId: owner, state, applied }
      })

      const decideShellOf = Effect.fnUntraced(function* (
        runId: string,
        commandHash: string,
        choice: "approved" | "denied",
        by: string,
      ) {
        const owner = yield* shellOwnerOf(runId, commandHash)
        const { state, applied } = yield* deciding(owner, (control, now) =>
          decideShell(control, commandHash, choice, by, now),
        )
        // a refusal stands for the runs below as well
        yield* choice === "denied" ? wakeFamily(owner) : wake(owner)
        return { runId: owner, state, applied }
      })

      /** Sets a switch in the row and in the log. Nothing is appended where it is so already. */
      const switching = Effect.fnUntraced(function* (
        runId: string,
        enabled: boolean,
        current: (view: ControlView) => boolean,
        event: NewEvent,
        update: Effect.Effect<unknown, DatabaseUnavailable>,
      ) {
        yield* hold(runId)
        const { lineage, carried } = yield* view(runId)
        if (current({ lineage, carried }) === enabled) return enabled
        const [, parent, ...above] = lineage
        if (enabled && parent !== undefined && !current({ lineage: [parent, ...above], carried })) {
          return yield* refuse("conflict", { message: "A child run may not do more by itself than its parent." })
        }
        yield* update
        yield* log.append(runId, [event])
        return enabled
      })

      return RunControl.of({
        approveTool: Effect.fn("RunControl.approveTool")(function* (runId, requestId, scope, by) {
          return yield* decideToolOf(runId, requestId, "approved", scope, by)
        }),
        denyTool: Effect.fn("RunControl.denyTool")(function* (runId, requestId, by) {
          return yield* decideToolOf(runId, requestId, "denied", null, by)
        }),
        approveShell: Effect.fn("RunControl.approveShell")(function* (runId, commandHash, by) {
          return yield* decideShellOf(runId, commandHash, "approved", by)
        }),
        denyShell: Effect.fn("RunControl.denyShell")(function* (runId, commandHash, by) {
          return yield* decideShellOf(runId, commandHash, "denied", by)
        }),
        answer: Effect.fn("RunControl.answer")(function* (runId, requestId, text, by) {
          const owner = yield* ownerOf(runId, requestId)
          yield* deciding(owner, (control, now) => decideAnswer(control, requestId, text, by, now))
          yield* wake(owner)
          return owner
        }),
        setAutoApprove: Effect.fn("RunControl.setAutoApprove")(
          function* (runId: string, enabled: boolean, by: string) {
            const event = AutoApproveChanged.of({ enabled, changedBy: by })
            const update = sql`update runs set auto_approve_tools = ${enabled} where run_id = ${runId}`
            const changed = yield* switching(runId, enabled, autoApproves, event, update)
            if (changed) yield* wakeFamily(runId)
            return changed
          },
          (effect) => sql.transaction(effect),
        ),
        setAutopilot: Effect.fn("RunControl.setAutopilot")(
          function* (runId: string, enabled: boolean, by: string) {
            const event = AutopilotChanged.of({ enabled, changedBy: by })
            const update = sql`
              with looked_at_anew as (
                update coordinators set version = version + 1, due_at = now() where run_id = ${runId}
              )
              update runs set autopilot = ${enabled} where run_id = ${runId}`
            const changed = yield* switching(runId, enabled, runsOnAutopilot, event, update)
            yield* wake(runId)
            return changed
          },
          (effect) => sql.transaction(effect),
        ),
        view: Effect.fn("RunControl.view")(view),
      })
    }),
  )
}
