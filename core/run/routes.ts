/** A run as a record: read, list, archive, cancel, retry, delete. */
import { Effect, Schema } from "effect"
import { subjectOf } from "#core/auth/caller.ts"
import { PageOf, pageOf, pageQuery, windowOf } from "#core/page.ts"
import { Checkouts } from "#core/ports/checkouts.ts"
import { query } from "#core/query.ts"
import { refuse } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"
import { RunAnswer, runAnswer, SummaryAnswer, summaryAnswer } from "#core/run/answers.ts"
import { Runs } from "#core/run/runs.ts"
import { RunStatus } from "#core/run/status.ts"

const tag = "Runs"

interface ById {
  readonly id: string
}

const Archived = Schema.Struct({ run_id: Schema.String, archived_at: Schema.NullOr(Schema.String) })

const Cancelled = Schema.Struct({
  run_id: Schema.String,
  status: RunStatus,
  cancelled: Schema.Boolean,
  already_terminal: Schema.Boolean,
})

const HistoryItem = Schema.Struct({
  id: Schema.String,
  type: Schema.String,
  timestamp: Schema.String,
  agent_id: Schema.NullOr(Schema.String),
  parent_id: Schema.NullOr(Schema.String),
  ephemeral: Schema.Boolean,
})

const ListQuery = Schema.Struct({
  ...pageQuery,
  agent: Schema.optionalKey(query.text()),
  terminal_only: Schema.optionalKey(query.boolean),
  include_children: Schema.optionalKey(query.boolean),
})

const Summaries = PageOf(SummaryAnswer)

export const runRoutes: Effect.Effect<ReadonlyArray<Route>, never, Runs | Checkouts> = Effect.gen(function* () {
  const runs = yield* Runs
  const checkouts = yield* Checkouts
  return [
    route<ById, Record<never, never>, undefined, typeof RunAnswer.Type>({
      method: "GET",
      path: "/api/runs/{id}",
      access: access.run("viewer"),
      summary: "The run as it stands",
      tag,
      answer: RunAnswer,
      handle: ({ params }) => Effect.map(runs.get(params.id), runAnswer),
    }),
    route<ById, Record<never, never>, undefined, typeof Archived.Type>({
      method: "POST",
      path: "/api/runs/{id}/archive",
      access: access.run("contributor"),
      summary: "Put the run away; it stays readable",
      tag,
      answer: Archived,
      handle: ({ params }) =>
        Effect.map(runs.archive(params.id), (run) => ({ run_id: run.runId, archived_at: run.archivedAt })),
    }),
    route<ById>({
      method: "DELETE",
      path: "/api/runs/{id}",
      access: access.run("contributor", { platformAdmin: true }),
      summary: "Cancel the run where it is active, and delete it with its children and events",
      tag,
      statuses: [204],
      handle: Effect.fn("runs.delete")(function* ({ params, caller }) {
        for (const { runId, repository } of yield* runs.remove(params.id, subjectOf(caller))) {
          if (repository === null) continue
          // the record is gone in any case; a checkout that is left behind is only disk
          yield* checkouts
            .remove({ runId, repository }, { branch: true })
            .pipe(Effect.catchTag("CheckoutFailed", ({ message }) => Effect.logWarning(message)))
        }
        return reply.empty()
      }),
    }),
    route<ById, Record<never, never>, undefined, typeof Cancelled.Type>({
      method: "POST",
      path: "/api/runs/{id}/cancel",
      access: access.run("contributor"),
      summary: "End the run and its children, and keep the record",
      tag,
      answer: Cancelled,
      handle: ({ params, caller }) =>
        Effect.map(runs.cancel(params.id, { reason: "cancelled", by: subjectOf(caller) }), ({ run, changed }) => ({
          run_id: run.runId,
          status: run.status,
          cancelled: changed,
          already_terminal: !changed,
        })),
    }),
    route<ById, Record<never, never>, undefined, ReadonlyArray<typeof HistoryItem.Type>>({
      method: "GET",
      path: "/api/runs/{id}/history",
      access: access.run("viewer"),
      summary: "What the agents of an ended run did, in order",
      tag,
      answer: Schema.Array(HistoryItem),
      handle: ({ params }) => runs.history(params.id),
    }),
    route<ById, typeof ListQuery.Type, undefined, typeof Summaries.Type>({
      method: "GET",
      path: "/api/projects/{id}/runs",
      access: access.project("viewer"),
      summary: "The project's runs, newest first; children only where asked for",
      tag,
      query: ListQuery,
      answer: Summaries,
      handle: Effect.fn("runs.list")(function* ({ params, query }) {
        const window = windowOf(query)
        const wanted = {
          projectId: params.id,
          ...(query.agent === undefined ? {} : { agent: query.agent }),
          terminalOnly: query.terminal_only ?? false,
          includeChildren: query.include_children ?? false,
          limit: window.limit,
          offset: window.offset,
        }
        const found = yield* runs.search.list(wanted)
        return pageOf(window, found.map(summaryAnswer), window.paged ? yield* runs.search.count(wanted) : 0)
      }),
    }),
    route<ById>({
      method: "POST",
      path: "/api/projects/{id}/runs",
      access: access.project("contributor"),
      summary: "Retired: start an orchestration instead",
      tag,
      statuses: [410],
      handle: () =>
        Effect.fail(
          refuse("gone", {
            message: "Runs are not started here any more. Use POST /api/projects/{id}/orchestrations.",
          }),
        ),
    }),
  ]
})
