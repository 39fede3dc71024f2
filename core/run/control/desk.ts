/**
 * What every decision about a run needs: its control as the log says, its row held against others, and
 * the runs above it.
 */
import { Effect, type Result } from "effect"
import type { NewEvent } from "#core/event.ts"
import type { EventLogShape } from "#core/event-log.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import { makeControlReader } from "#core/run/control/reader.ts"
import type { ControlState } from "#core/run/control/state.ts"
import type { ControlView } from "#core/run/control/verdict.ts"
import { isTerminal, type RunStatus } from "#core/run/status.ts"
import type { SqlShape } from "#core/sql.ts"

/** Levels of runs above a run that are looked at: a coordinator, its children, theirs. */
export const maxLineage = 8

interface HeldRun {
  readonly status: RunStatus
  readonly fence: number
  /** Milliseconds since 1970, by the database's clock. */
  readonly now: number
}

export const makeControlDesk = (sql: SqlShape, log: EventLogShape) => {
  const read = makeControlReader(sql)

  /**
   * The run's row, held until the transaction ends: decisions about one run come one after the other. With a
   * fence, `lease_lost` for a worker that is no longer the run's.
   */
  const hold = Effect.fnUntraced(function* (runId: string, fence?: number) {
    const [run] = yield* sql<HeldRun>`
      select status, fence, (extract(epoch from clock_timestamp()) * 1000)::float8 as now
        from runs where run_id = ${runId} for no key update`
    if (run === undefined) return yield* refuse("run_not_found")
    if (isTerminal(run.status)) return yield* refuse("run_not_active", { extra: { status: run.status } })
    if (fence !== undefined && run.fence !== fence) return yield* refuse("lease_lost")
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
        const decided = yield* Effect.fromResult(decide((yield* read(runId)).state, now))
        yield* log.append(runId, decided.events)
        return decided
      }),
    )

  const view = Effect.fnUntraced(function* (runId: string) {
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
      const { state } = yield* read(id)
      if (!carries) lineage.push(state)
      else for (const [tool, scope] of state.allowed) if (scope === "always") carried.add(tool)
    }
    const [own, ...rest] = lineage
    if (own === undefined) return yield* refuse("run_not_found")
    return { lineage: [own, ...rest], carried } satisfies ControlView
  })

  /** The run and every active run below it. */
  const family = (runId: string) =>
    Effect.map(
      sql<{ readonly runId: string }>`
        with recursive tree as (
          select run_id, 0 as level from runs where run_id = ${runId}
          union all
          select r.run_id, tree.level + 1
            from runs r join tree on r.parent_run_id = tree.run_id
           where r.ended_at is null and tree.level < ${maxLineage}
        )
        select run_id as "runId" from tree`,
      (rows) => rows.map((row) => row.runId),
    )

  return { read, hold, deciding, view, family }
}
