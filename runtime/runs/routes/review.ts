/**
 * A person's review of a run: approve, decline, ask for changes, or commit and merge at once. The merge itself is
 * done by whichever worker takes the run.
 */
import { Effect, Schema, Stream } from "effect"
import { subjectOf } from "#core/auth/caller.ts"
import { EventLog } from "#core/event-log.ts"
import { Hooks } from "#core/hook.ts"
import { Checkouts } from "#core/ports/checkouts.ts"
import { type Refusal, refuse, refuseInput } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"
import type { Run } from "#core/run/run.ts"
import { Runs } from "#core/run/runs.ts"
import { RunStatus } from "#core/run/status.ts"
import { Settings } from "#core/settings.ts"
import { reviewAccept } from "#policies/review/question.ts"

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

/** How long a request waits for the worker that commits and merges. */
const commitPatience = "25 seconds"

const CommitAnswer = Schema.Struct({
  run_id: Schema.String,
  status: RunStatus,
  merge_result: Schema.NullOr(Schema.String),
  conflicting_files: Schema.NullOr(Schema.Array(Schema.String)),
})

type Needs = Runs | Settings | Hooks | Checkouts | EventLog

export const reviewRoutes: Effect.Effect<ReadonlyArray<Route>, never, Needs> = Effect.gen(function* () {
  const runs = yield* Runs
  const hooks = yield* Hooks
  const checkouts = yield* Checkouts
  const log = yield* EventLog
  const { MaxRevisions: maxRevisions } = (yield* Settings).Runs

  const requestChanges = Effect.fnUntraced(function* (runId: string, comment: string, by: string) {
    return (yield* runs.transition(runId, { _tag: "RequestChanges", comment, by, maxRevisions })).run
  })

  /** No policy objects to what would be merged now: what is in the checkout, or, where `shown`, what was reviewed. */
  const mayMerge = Effect.fnUntraced(function* (run: Run, reviewer: string, shown: boolean) {
    if (run.status !== "awaiting_review" || run.repository === null) return
    const unavailable = () => refuse("worktree_unavailable")
    const place = { runId: run.runId, repository: run.repository }
    const checkout = yield* checkouts.open(place).pipe(Effect.mapError(unavailable))
    const { treeHash } = yield* checkouts.snapshot(checkout).pipe(Effect.mapError(unavailable))
    if (shown && treeHash !== run.treeHash) return yield* refuse("worktree_changed", { extra: { status: run.status } })
    const files = yield* checkouts.files(checkout, "all").pipe(Effect.mapError(unavailable))
    yield* hooks.permit(
      reviewAccept,
      {
        runId: run.runId,
        projectId: run.projectId,
        scope: "run",
        reviewer,
        submittedBy: run.submittedBy,
        treeHash,
        targetBranch: run.originatingBranch,
        files: files.map((file) => file.path),
      },
      { runId: run.runId },
    )
  })

  /** The run as it is once no worker commits or merges it any more, or when patience is over. */
  const settled = Effect.fnUntraced(function* (runId: string) {
    const moves = log.follow(runId, 0).pipe(
      Stream.mapEffect(() => runs.get(runId)),
      Stream.filter((run) => run.status !== "committing" && run.status !== "merging"),
      Stream.take(1),
      Stream.runDrain,
    )
    yield* Effect.timeoutOption(moves, commitPatience)
    return yield* runs.get(runId)
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
        if (body.approved) yield* mayMerge(yield* runs.get(params.id), by, true)
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
    route<ById, Record<never, never>, undefined, typeof CommitAnswer.Type>({
      method: "POST",
      path: "/api/runs/{id}/commit",
      access: access.run("contributor"),
      summary: "Commit what is in the checkout and merge it into the originating branch",
      tag,
      answer: CommitAnswer,
      handle: Effect.fn("review.commit")(function* ({ params, caller }) {
        const before = yield* runs.get(params.id)
        if (before.worktreeBranch === null) return yield* refuse("worktree_unavailable")
        if (before.status === "merging" || before.status === "committing") return yield* refuse("already_merging")
        const by = subjectOf(caller)
        yield* mayMerge(before, by, false)
        yield* runs.transition(params.id, { _tag: "TakeCommitSlot", by })
        const run = yield* settled(params.id)
        if (run.status === "awaiting_review") {
          return yield* refuse("conflict", {
            message: "The merge could not be made now. The run waits for review again; its events say why.",
            extra: { status: run.status },
          })
        }
        return {
          run_id: run.runId,
          status: run.status,
          merge_result: run.result,
          conflicting_files: run.mergeConflicts,
        }
      }),
    }),
  ]
})
