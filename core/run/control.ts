/**
 * What people decide about a running run: approvals, answers, switches. Each decision is an event of the
 * run's log, made while the run's row is held, so that of two that contradict each other exactly one
 * counts; any replica can take it. It asks nothing by itself and runs no tool.
 */
import { Context, Effect, Layer, type Result } from "effect"
import type { NewEvent } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import { type Decided, decideAnswer, decideShell, decideTool, scopeOf } from "#core/run/control/decide.ts"
import { makeControlReader } from "#core/run/control/reader.ts"
import type { ControlState } from "#core/run/control/state.ts"
import { autoApproves, type ControlView, runsOnAutopilot } from "#core/run/control/verdict.ts"
import { AutoApproveChanged, AutopilotChanged } from "#core/run/events/control.ts"
import { isTerminal, type RunStatus } from "#core/run/status.ts"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"

/** Levels of runs above a run that are looked at: a coordinator, its children, theirs. */
const maxLineage = 8

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

interface HeldRun {
  readonly status: RunStatus
  readonly now: number
}

export class RunControl extends Context.Service<RunControl, RunControlShape>()("core/RunControl") {
  static readonly layer = Layer.effect(
    RunControl,
    Effect.gen(function* () {
      const sql = yield* Sql
      const log = yield* EventLog
      const read = makeControlReader(sql)

      /** The run's row, held until the transaction ends: decisions about one run come one after the other. */
      const hold = Effect.fnUntraced(function* (runId: string) {
        const [run] = yield* sql<HeldRun>`
          select status, (extract(epoch from clock_timestamp()) * 1000)::float8 as now
            from runs where run_id = ${runId} for no key update`
        if (run === undefined) return yield* refuse("run_not_found")
        if (isTerminal(run.status)) return yield* refuse("run_not_active", { extra: { status: run.status } })
        return run
      })

      /** Holds the run, decides on its state, appends what was decided. */
      const deciding = <A extends { readonly events: ReadonlyArray<NewEvent> }>(
        runId: string,
        decide: (state: ControlState, now: number) => Result.Result<A, Refusal>,
      ) =>
        sql.transaction(
          Effect.gen(function* () {
            const { now } = yield* hold(runId)
            const decided = yield* Effect.fromResult(decide(yield* read(runId), now))
            yield* log.append(runId, decided.events)
            return decided
          }),
        )

      /** The run that waits with this request: this one, or a run below it that told it so. */
      const ownerOf = Effect.fnUntraced(function* (runId: string, requestId: string) {
        let owner = runId
        for (let level = 0; level < maxLineage; level++) {
          const state = yield* read(owner)
          if (state.tools.has(requestId) || state.questions.has(requestId)) return owner
          const child = state.children.get(requestId)
          if (child === undefined) return runId
          owner = child
        }
        return runId
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
        return { runId: owner, state, applied }
      })

      const decideShellOf = Effect.fnUntraced(function* (
        runId: string,
        commandHash: string,
        choice: "approved" | "denied",
        by: string,
      ) {
        const { state, applied } = yield* deciding(runId, (control, now) =>
          decideShell(control, commandHash, choice, by, now),
        )
        return { runId, state, applied }
      })

      const view = Effect.fn("RunControl.view")(function* (runId: string) {
        const above = yield* sql<{ readonly runId: string; readonly carries: boolean }>`
          with recursive up as (
            select run_id, parent_run_id, retried_from, 0 as level, false as carries from runs where run_id = ${runId}
            union all
            select r.run_id, r.parent_run_id, r.retried_from, up.level + 1, r.run_id = up.retried_from
              from runs r join up on r.run_id = coalesce(up.parent_run_id, up.retried_from)
             where up.level < ${maxLineage}
          )
          select run_id as "runId", carries from up order by level`
        const carried = new Set<string>()
        const lineage: Array<ControlState> = []
        for (const { runId: id, carries } of above) {
          const state = yield* read(id)
          if (!carries) lineage.push(state)
          else for (const [tool, scope] of state.allowed) if (scope === "always") carried.add(tool)
        }
        const [own, ...rest] = lineage
        if (own === undefined) return yield* refuse("run_not_found")
        return { lineage: [own, ...rest], carried } satisfies ControlView
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
          return owner
        }),
        setAutoApprove: Effect.fn("RunControl.setAutoApprove")(
          function* (runId: string, enabled: boolean, by: string) {
            const event = AutoApproveChanged.of({ enabled, changedBy: by })
            const update = sql`update runs set auto_approve_tools = ${enabled} where run_id = ${runId}`
            return yield* switching(runId, enabled, autoApproves, event, update)
          },
          (effect) => sql.transaction(effect),
        ),
        setAutopilot: Effect.fn("RunControl.setAutopilot")(
          function* (runId: string, enabled: boolean, by: string) {
            const event = AutopilotChanged.of({ enabled, changedBy: by })
            const update = sql`update runs set autopilot = ${enabled} where run_id = ${runId}`
            return yield* switching(runId, enabled, runsOnAutopilot, event, update)
          },
          (effect) => sql.transaction(effect),
        ),
        view,
      })
    }),
  )
}
