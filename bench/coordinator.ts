/**
 * What a coordinator adds to the work of its agents: plans of 10, 100 and 1,000 subtasks whose agents are through as
 * soon as they are dispatched, from their start until a person is asked; beside, in the same run,
 *  (a) the decisions alone: the same plans decided and evolved in memory, nothing stored;
 *  (b) a plain scheduler in memory, that knows of nothing but dependencies and a width: the floor.
 * Then 100 plans whose driver is gone with its leases, until another has taken every one of them a step further.
 */
import { Effect, Layer } from "effect"
import { decisions } from "#bench/coordinator/decisions.ts"
import { coordinatorServices, startPlan, told, withInstantAgents, worldOf } from "#bench/coordinator/plans.ts"
import { recovery } from "#bench/coordinator/recovery.ts"
import { schedule } from "#bench/coordinator/scheduler.ts"
import { withBenchDatabase } from "#bench/database.ts"
import { type BenchOptions, median, type Report, round } from "#bench/report.ts"
import { Sql } from "#core/sql.ts"
import { runCoordinators } from "#runtime/coordinator/worker.ts"

const sizes = [10, 100, 1_000] as const

interface Measured {
  /** Of one subtask, in milliseconds. */
  readonly each: number
  readonly events: number
  /** Characters of all events of the coordinator, for one subtask. */
  readonly written: number
}

const whole = Effect.fnUntraced(function* (count: number) {
  const sql = yield* Sql
  const begin = performance.now()
  const runId = yield* startPlan
  yield* told(runId, "review.requested")
  const each = (performance.now() - begin) / count
  const [log] = yield* sql<{ readonly events: number; readonly characters: number }>`
    select count(*)::int as events, sum(length(payload::text))::float8 as characters from events where run_id = ${runId}`
  return { each, events: (log?.events ?? 0) / count, written: (log?.characters ?? 0) / count } satisfies Measured
})

/** Plans of one size, one after the other, with one replica's coordinators. */
const plans = (count: number, times: number) =>
  Effect.gen(function* () {
    yield* runCoordinators
    const measured: Array<Measured> = []
    for (let n = 0; n < times; n++) measured.push(yield* whole(count))
    return measured
  }).pipe(
    Effect.scoped,
    Effect.provide(worldOf(count)),
    Effect.provide(withInstantAgents.pipe(Layer.provideMerge(coordinatorServices))),
  )

const middle = (measured: ReadonlyArray<Measured>, of: keyof Measured): number => median(measured.map((m) => m[of]))

export const bench = ({ quick }: BenchOptions): Promise<Report> =>
  withBenchDatabase(async ({ run }) => {
    const times = quick ? 1 : 3
    const measured = new Map<number, Array<Measured>>(sizes.map((size) => [size, []]))
    await run(plans(10, 2))
    for (let round = 0; round < times; round++) {
      for (const size of round % 2 === 0 ? sizes : sizes.toReversed()) {
        const repeated = size === 10 ? 5 : 1
        measured.get(size)?.push(...(await run(plans(size, repeated))))
      }
    }
    const of = (size: number, what: keyof Measured) => middle(measured.get(size) ?? [], what)
    const decided = new Map(sizes.map((size) => [size, decisions(size)]))
    const floor = new Map(await Promise.all(sizes.map(async (size) => [size, await schedule(size)] as const)))
    const crash = await run(recovery(quick ? 20 : 100).pipe(Effect.provide(coordinatorServices)))
    return {
      title: `Coordinators, without the work of their agents (median of ${times})`,
      columns: ["subtasks", "ms each", "dispatches /s", "events each", "KB each", "decisions ms", "in memory ms"],
      rows: sizes.map((size) => [
        size,
        round(of(size, "each")),
        Math.round(1_000 / of(size, "each")),
        round(of(size, "events"), 1),
        round(of(size, "written") / 1_000, 1),
        round(decided.get(size) ?? Number.NaN, 3),
        round(floor.get(size) ?? Number.NaN, 4),
      ]),
      notes: [
        `${crash.plans} plans with ${crash.children} children, whose driver is gone: all a step further after ${Math.round(crash.milliseconds)} ms.`,
      ],
      ratios: {
        growth_1000_vs_100: round(of(1_000, "each") / of(100, "each")),
        vs_memory_1000: Math.round(of(1_000, "each") / (floor.get(1_000) ?? Number.NaN)),
      },
      figures: {
        ...Object.fromEntries(sizes.map((size) => [`ms_per_subtask_${size}`, round(of(size, "each"))])),
        ...Object.fromEntries(sizes.map((size) => [`events_per_subtask_${size}`, round(of(size, "events"), 1)])),
        decision_ms_per_subtask_1000: round(decided.get(1_000) ?? Number.NaN, 3),
        recovery_ms: Math.round(crash.milliseconds),
      },
    }
  })
