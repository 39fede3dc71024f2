/**
 * Is a run still going? What a stream asks before it ends. Those who ask at the same time, about one
 * run or many, share one query.
 */
import { Context, Effect, Exit, Layer, Request, RequestResolver } from "effect"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"

/** `ended`: no further event will come. `gone`: the run was deleted. */
export type Life = "live" | "ended" | "gone"

class LifeOf extends Request.TaggedClass("LifeOf")<{ readonly runId: string }, Life, DatabaseUnavailable> {}

export class RunLife extends Context.Service<
  RunLife,
  {
    /** Of a run, or of the run that a sub-stream (`{runId}-rai`) belongs to. */
    readonly of: (streamId: string) => Effect.Effect<Life, DatabaseUnavailable>
  }
>()("core/RunLife") {
  static readonly layer = Layer.effect(
    RunLife,
    Effect.gen(function* () {
      const sql = yield* Sql
      const resolver = RequestResolver.make<LifeOf>(
        Effect.fnUntraced(function* (entries) {
          const runIds = [...new Set(entries.map((entry) => entry.request.runId))]
          const rows = yield* sql<{ run_id: string; ended: boolean }>`
            select run_id, ended_at is not null as ended from runs where run_id = any(${runIds}::uuid[])`
          const lives = new Map(rows.map((row) => [row.run_id, row.ended ? "ended" : "live"] as const))
          for (const entry of entries) entry.completeUnsafe(Exit.succeed(lives.get(entry.request.runId) ?? "gone"))
        }),
      )
      return RunLife.of({
        of: (streamId) => Effect.request(new LifeOf({ runId: streamId.slice(0, 36) }), resolver),
      })
    }),
  )
}
