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
import type { RunCommand } from "#core/run/command.ts"
import type { Run } from "#core/run/run.ts"
import { Runs } from "#core/run/runs.ts"
import { RunStatus } from "#core/run/status.ts"
import { Settings } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { reviewAccept } from "#policies/review/question.ts"
import { stepEvent } from "#runtime/runs/step-event.ts"

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

/** How the stage of the review ends with each decision. */
const outcomes = {
  Approve: { status: "completed", message: undefined },
  Decline: { status: "failed", message: "The change was declined." },
  RequestChanges: { status: "completed", message: "Changes were asked for." },
  TakeCommitSlot: { status: "completed", message: undefined },
} as const

const CommitAnswer = Schema.Struct({
  run_id: Schema.String,
  status: RunStatus,
  merge_result: Schema.NullOr(Schema.String),
  conflicting_files: Schema.NullOr(Schema.Array(Schema.String)),
})

type Needs = Runs | Settings | Hooks | Checkouts | EventLog | Sql

export const reviewRoutes: Effect.Effect<ReadonlyArray<Route>, never, Needs> = Effect.gen(function* () {
  const runs = yield* Runs
  const hooks = yield* Hooks
  const checkouts = yield* Checkouts
  const log = yield* EventLog
  const sql = yield* Sql
  const { MaxRevisions: maxRevisions } = (yield* Settings).Runs

  /** Carries out what a person decided, and tells how the review went in the same commit. */
  const decide = Effect.fnUntraced(function* (
    { runId, agentName }: Run,
    command: Extract<RunCommand, { _tag: "Approve" | "Decline" | "RequestChanges" | "TakeCommitSlot" }>,
    feedback?: string,
  ) {
    const { status, message } = outcomes[command._tag]
    const told = yield* stepEvent({ agentName, reviewedBy: command.by }, "review", status, feedback ?? message)
    return (yield* runs.transition(runId, command, { events: [told] })).run
  })

  const requestChanges = Effect.fnUntraced(function* (runId: string, comment: string, by: string) {
    return yield* decide(yield* runs.get(runId), { _tag: "RequestChanges", comment, by, maxRevisions })
  })

  /**
   * No policy objects to what would be merged now: what is in the checkout, or, where `shown`, what was reviewed.
   * Gives its tree; null where the run is not reviewed now.
   */
  const mayMerge = Effect.fnUntraced(function* (run: Run, reviewer: string, shown: boolean) {
    if (run.status !== "awaiting_review" || run.repository === null) return null
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
    return treeHash
  })

  /** The run as it is once no worker commits or merges it any more, or when patience is over. */
  const settled = Effect.fnUntraced(function* (runId: string) {
    const [at] = yield* sql<{ head: number }>`
      select coalesce(max(sequence), 0)::float8 as head from events where run_id = ${runId}`
    const isSettled = Effect.map(runs.get(runId), ({ status }) => status !== "committing" && status !== "merging")
    if (!(yield* isSettled)) {
      // what was told before is not read again
      const moves = log.follow(runId, at?.head).pipe(
        Stream.filterEffect(() => isSettled),
        Stream.take(1),
        Stream.runDrain,
      )
      yield* Effect.timeoutOption(moves, commitPatience)
    }
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
        const feedback = body.feedback?.trim() ? yield* readComment(body.feedback, "feedback") : undefined
        const run = yield* runs.get(params.id)
        if (!body.approved) return reviewAnswer(yield* decide(run, { _tag: "Decline", by }, feedback))
        const treeHash = yield* mayMerge(run, by, true)
        return reviewAnswer(yield* decide(run, { _tag: "Approve", by, treeHash }, feedback))
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
        yield* decide(before, { _tag: "TakeCommitSlot", by })
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
