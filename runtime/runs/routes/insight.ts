/** What can be learned of a run after the fact: its graph, its cost, its spans, and why it ended. Nothing here changes it. */
import { Effect } from "effect"
import { access, type Route, route } from "#core/route.ts"
import { Runs } from "#core/run/runs.ts"
import { Sql } from "#core/sql.ts"
import { coordinatorGraph } from "#runtime/coordinator/graph.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"
import { GraphDescriptor, runGraph } from "#runtime/runs/graph.ts"
import { makeDiagnosis, TerminalDiagnostic } from "#runtime/runs/insight/diagnostic.ts"
import { makeTraces, RunTrace } from "#runtime/runs/insight/traces.ts"
import { makeBreakdown, TokenBreakdown } from "#runtime/runs/insight/usage.ts"

const tag = "Runs"

interface ById {
  readonly id: string
}

export const insightRoutes: Effect.Effect<ReadonlyArray<Route>, never, Runs | Sql | CoordinatorStore> = Effect.gen(
  function* () {
    const runs = yield* Runs
    const sql = yield* Sql
    const coordinators = yield* CoordinatorStore
    const breakdown = makeBreakdown(sql)
    const traces = makeTraces(sql)
    const diagnosis = makeDiagnosis(sql)
    return [
      route<ById, Record<never, never>, undefined, GraphDescriptor>({
        method: "GET",
        path: "/api/runs/{id}/graph",
        access: access.run("viewer"),
        summary: "The stages that the run goes through, and where it is",
        tag,
        answer: GraphDescriptor,
        handle: Effect.fn("insight.graph")(function* ({ params }) {
          const state = yield* coordinators.load(params.id)
          return state === undefined ? runGraph(yield* runs.get(params.id)) : coordinatorGraph(state)
        }),
      }),
      route<ById, Record<never, never>, undefined, typeof TokenBreakdown.Type>({
        method: "GET",
        path: "/api/runs/{id}/token-breakdown",
        access: access.run("viewer"),
        summary: "Tokens and cost of the run and its children, by agent",
        tag,
        answer: TokenBreakdown,
        handle: ({ params }) => breakdown(params.id),
      }),
      route<ById, Record<never, never>, undefined, typeof TerminalDiagnostic.Type>({
        method: "GET",
        path: "/api/runs/{id}/terminal-diagnostic",
        access: access.run("viewer"),
        summary: "Why the run is where it is, and what can be done about it",
        tag,
        answer: TerminalDiagnostic,
        handle: ({ params }) => Effect.flatMap(runs.get(params.id), diagnosis),
      }),
      route<{ runId: string }, Record<never, never>, undefined, typeof RunTrace.Type>({
        method: "GET",
        path: "/api/metrics/runs/{runId}/traces",
        access: access.run("viewer", { param: "runId" }),
        summary: "What the run's agents did, as spans",
        tag,
        answer: RunTrace,
        handle: ({ params }) => traces(params.runId),
      }),
    ]
  },
)
