/** A person's review of a run: approve, decline, ask for changes. The merge itself is done elsewhere. */
import { Effect, Schema } from "effect"
import { subjectOf } from "#core/auth/caller.ts"
import { type Refusal, refuseInput } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"
import type { Run } from "#core/run/run.ts"
import { Runs } from "#core/run/runs.ts"
import { RunStatus } from "#core/run/status.ts"
import { Settings } from "#core/settings.ts"

const tag = "Review"

/** Characters of a reviewer's comment. */
const maxComment = 8_000

interface ById {
  readonly id: string
}

const ReviewBody = Schema.Struct({
  approved: Schema.Boolean,
  request_changes: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  feedback: Schema.optionalKey(Schema.NullOr(Schema.String)),
})

const ReviewAnswer = Schema.Struct({
  run_id: Schema.String,
  status: RunStatus,
  merge_result: Schema.NullOr(Schema.String),
})

const ChangesBody = Schema.Struct({ comment: Schema.optionalKey(Schema.NullOr(Schema.String)) })
const ChangesAnswer = Schema.Struct({ run_id: Schema.String, status: RunStatus })

/** The comment without control characters (a terminal or a prompt would act on them), or why it cannot be taken. */
const readComment = (comment: string | null | undefined, field: string): Effect.Effect<string, Refusal> => {
  const clean = (comment ?? "").replace(/[^\P{Cc}\n\t]/gu, "").trim()
  const wrong = (message: string) => Effect.fail(refuseInput([{ path: `body.${field}`, message }], message))
  if (clean === "") return wrong(`${field} is required.`)
  return clean.length > maxComment
    ? wrong(`${field} may have at most ${maxComment} characters.`)
    : Effect.succeed(clean)
}

const reviewAnswer = (run: Run): typeof ReviewAnswer.Type => ({
  run_id: run.runId,
  status: run.status,
  merge_result: run.status === "merged" || run.status === "merge_failed" ? run.result : null,
})

export const reviewRoutes: Effect.Effect<ReadonlyArray<Route>, never, Runs | Settings> = Effect.gen(function* () {
  const runs = yield* Runs
  const { MaxRevisions: maxRevisions } = (yield* Settings).Runs

  const requestChanges = Effect.fnUntraced(function* (runId: string, comment: string, by: string) {
    return (yield* runs.transition(runId, { _tag: "RequestChanges", comment, by, maxRevisions })).run
  })

  return [
    route<ById, Record<never, never>, typeof ReviewBody.Type, typeof ReviewAnswer.Type>({
      method: "POST",
      path: "/api/runs/{id}/review",
      access: access.run("contributor"),
      summary: "Approve or decline what the run made, or ask for changes",
      tag,
      body: ReviewBody,
      answer: ReviewAnswer,
      handle: Effect.fn("review.decide")(function* ({ params, body, caller }) {
        const by = subjectOf(caller)
        if (body.request_changes === true) {
          if (body.approved) {
            return yield* refuseInput([{ path: "body.request_changes", message: "Approve, or ask for changes." }])
          }
          const comment = yield* readComment(body.feedback, "feedback")
          return reviewAnswer(yield* requestChanges(params.id, comment, by))
        }
        const { run } = yield* runs.transition(params.id, { _tag: body.approved ? "Approve" : "Decline", by })
        return reviewAnswer(run)
      }),
    }),
    route<ById, Record<never, never>, typeof ChangesBody.Type, typeof ChangesAnswer.Type>({
      method: "POST",
      path: "/api/runs/{id}/request-changes",
      access: access.run("contributor"),
      summary: "Send the run back to its agent with a comment",
      tag,
      body: ChangesBody,
      bodyOptional: true,
      answer: ChangesAnswer,
      statuses: [202],
      handle: Effect.fn("review.requestChanges")(function* ({ params, body, caller }) {
        const comment = yield* readComment(body.comment, "comment")
        const run = yield* requestChanges(params.id, comment, subjectOf(caller))
        return reply.json(202, { run_id: run.runId, status: run.status })
      }),
    }),
  ]
})
