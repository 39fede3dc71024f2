/** Plans in the middle of their work whose driver is gone: how soon another has every one of them. */
import { Effect } from "effect"
import { startPlan, worldOf } from "#bench/coordinator/plans.ts"
import { Runs } from "#core/run/runs.ts"
import { Sql } from "#core/sql.ts"
import { runCoordinators } from "#runtime/coordinator/worker.ts"

const subtasks = 10

/** Looks again until so many rows are there. */
const atLeast = (count: number, found: Effect.Effect<ReadonlyArray<{ readonly n: number }>, unknown>) =>
  found.pipe(
    Effect.orDie,
    Effect.tap(Effect.sleep("5 millis")),
    Effect.repeat({ until: ([row]) => (row?.n ?? 0) >= count }),
  )

export const recovery = (plans: number) =>
  Effect.gen(function* () {
    const sql = yield* Sql
    const runs = yield* Runs
    const children = sql<{ readonly n: number }>`
      select count(*)::int as n from runs where parent_run_id is not null and ended_at is null`
    // until each has children that work
    yield* Effect.gen(function* () {
      yield* runCoordinators
      yield* Effect.forEach(Array.from({ length: plans }), () => startPlan, { concurrency: 8 })
      yield* atLeast(plans * 4, children)
    }).pipe(Effect.scoped)
    // one child of each is through, when the process dies that has them all
    const ended = yield* sql<{ readonly runId: string }>`
      select distinct on (parent_run_id) run_id as "runId" from runs
       where parent_run_id is not null and ended_at is null order by parent_run_id, created_at`
    yield* Effect.forEach(ended, ({ runId }) => runs.transition(runId, { _tag: "Complete", result: "no_changes" }), {
      concurrency: 8,
    })
    yield* sql`
      update runs r set lease_owner = 'gone', lease_until = now() - interval '1 second', fence = fence + 1
        from coordinators c where c.run_id = r.run_id and r.ended_at is null and r.status = 'in_progress'`
    yield* sql`update coordinators set due_at = now()`
    const begin = performance.now()
    yield* Effect.gen(function* () {
      yield* runCoordinators
      yield* atLeast(
        plans,
        sql`select count(*)::int as n from events where type = 'coordinator.recovered'` as typeof children,
      )
    }).pipe(Effect.scoped)
    return { plans, children: ended.length * 4, milliseconds: performance.now() - begin }
  }).pipe(Effect.provide(worldOf(subtasks)))
