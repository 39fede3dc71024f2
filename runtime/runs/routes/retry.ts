/** A failed run is tried again as a new run; a plan that is held up goes on in place. */
import { Effect, Schema } from "effect"
import { subjectOf } from "#core/auth/caller.ts"
import { access, type Route, reply, route } from "#core/route.ts"
import { isCoordinator } from "#core/run/run.ts"
import { Runs } from "#core/run/runs.ts"
import { isTerminal, RunStatus } from "#core/run/status.ts"
import { rearm } from "#runtime/coordinator/command.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"

const Retried = Schema.Struct({
  run_id: Schema.String,
  retried_from: Schema.NullOr(Schema.String),
  status: RunStatus,
  /** The same run goes on. */
  resumed: Schema.optionalKey(Schema.Boolean),
})

export const retryRoutes: Effect.Effect<ReadonlyArray<Route>, never, Runs | CoordinatorStore> = Effect.gen(
  function* () {
    const runs = yield* Runs
    const coordinators = yield* CoordinatorStore
    return [
      route<{ readonly id: string }, Record<never, never>, undefined, typeof Retried.Type>({
        method: "POST",
        path: "/api/runs/{id}/retry",
        access: access.run("contributor"),
        summary: "Try a failed run again as a new run that is linked to it; a plan that is held up goes on in place",
        tag: "Runs",
        answer: Retried,
        statuses: [201, 200],
        handle: Effect.fn("runs.retry")(function* ({ params, caller }) {
          const by = subjectOf(caller)
          const source = yield* runs.get(params.id)
          if (isCoordinator(source) && !isTerminal(source.status)) {
            const after = yield* coordinators.decide(params.id, (state) => Effect.fromResult(rearm(state, by)))
            return { run_id: params.id, retried_from: null, status: after.run.status, resumed: true }
          }
          const { run, changed } = yield* isCoordinator(source)
            ? coordinators.retry(params.id, by)
            : runs.retry(params.id, by)
          return reply.json(changed ? 201 : 200, {
            run_id: run.runId,
            retried_from: params.id,
            // a retry is on its way at once; the row says `pending` until its worktree is ready
            status: run.status === "pending" ? "in_progress" : run.status,
          })
        }),
      }),
    ]
  },
)
