/** What people decide about a coordinator run: the review of what was assembled, and steering. */
import { Effect, Schema } from "effect"
import { subjectOf } from "#core/auth/caller.ts"
import { Hooks } from "#core/hook.ts"
import { Checkouts } from "#core/ports/checkouts.ts"
import { type Refusal, refuse, refuseInput } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"
import { Runs } from "#core/run/runs.ts"
import { reviewAccept } from "#policies/review/question.ts"
import { DirectiveAnswer, directiveAnswer } from "#runtime/coordinator/answers.ts"
import { type SteerKind, steer, steerKinds } from "#runtime/coordinator/command/steer.ts"
import { type ReviewDecision, reviewAssembly } from "#runtime/coordinator/command.ts"
import { type CoordinatorState, childOf } from "#runtime/coordinator/state.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"

const tag = "Coordinator"
const contributor = access.run("contributor", { param: "coordinatorRunId" })

interface ByRun {
  readonly coordinatorRunId: string
}
type None = Record<never, never>

/** Characters. */
const maxText = 8_000
const maxFiles = 500

const text = Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(maxText))))
const flag = Schema.optionalKey(Schema.NullOr(Schema.Boolean))

const ReviewBody = Schema.Struct({
  approved: flag,
  request_changes: flag,
  declined: flag,
  feedback: text,
  target_files: Schema.optionalKey(
    Schema.NullOr(Schema.Array(Schema.String.check(Schema.isMaxLength(4_096))).check(Schema.isMaxLength(maxFiles))),
  ),
})
const Reviewed = Schema.Struct({ runId: Schema.String, accepted: Schema.Boolean })

const SteerBody = Schema.Struct({
  kind: text,
  target_child_run_id: text,
  targetChildRunId: text,
  instruction: text,
})

/** One decision, and only one. */
const readReview = (body: typeof ReviewBody.Type, by: string): Effect.Effect<ReviewDecision, Refusal> => {
  const said = [body.approved, body.request_changes, body.declined].filter((each) => each === true).length
  const wrong = (path: string, message: string) => Effect.fail(refuseInput([{ path, message }], message))
  if (said > 1) return wrong("body", "Approve, decline, or ask for changes: one of them.")
  if (said === 0 && body.approved == null) return wrong("body.approved", "approved is required.")
  const feedback = body.feedback?.trim() ?? ""
  if (body.request_changes === true && feedback === "") return wrong("body.feedback", "feedback is required.")
  return Effect.succeed({
    approved: body.approved === true,
    requestChanges: body.request_changes === true,
    feedback,
    targetFiles: body.target_files ?? null,
    by,
  })
}

const readKind = (kind: string | null | undefined): Effect.Effect<SteerKind, Refusal> => {
  const wrong = (message: string) => Effect.fail(refuseInput([{ path: "body.kind", message }], message))
  if (kind == null || kind === "") return wrong("kind is required.")
  if (kind === "pause") {
    return wrong("pause is not supported: stop a child, or send it an instruction that it reads at its next turn.")
  }
  const known = steerKinds.find((each) => each === kind)
  return known === undefined ? wrong(`kind must be one of ${steerKinds.join(", ")}.`) : Effect.succeed(known)
}

type Needs = CoordinatorStore | Runs | Hooks | Checkouts

export const decideRoutes: Effect.Effect<ReadonlyArray<Route>, never, Needs> = Effect.gen(function* () {
  const store = yield* CoordinatorStore
  const runs = yield* Runs
  const hooks = yield* Hooks
  const checkouts = yield* Checkouts

  /** What is approved is what was assembled, and no policy objects. */
  const mayApprove = Effect.fnUntraced(function* (state: CoordinatorState, reviewer: string) {
    const { run, plan } = state
    const commit = plan?.assembly.commit ?? null
    if (plan === null || commit === null || run.repository === null || run.originatingBranch === null) return
    const files = yield* checkouts
      .compare({ repository: run.repository, from: run.originatingBranch, to: commit })
      .files.pipe(Effect.mapError(() => refuse("worktree_unavailable")))
    yield* hooks.permit(
      reviewAccept,
      {
        runId: run.runId,
        projectId: run.projectId,
        scope: "assembly",
        reviewer,
        submittedBy: run.submittedBy,
        treeHash: plan.assembly.treeHash,
        targetBranch: run.originatingBranch,
        files: files.map(({ path }) => path),
      },
      { runId: run.runId },
    )
  })

  return [
    route<ByRun, None, typeof ReviewBody.Type, typeof Reviewed.Type>({
      method: "POST",
      path: "/api/runs/{coordinatorRunId}/assembly/review",
      access: contributor,
      summary: "Approve or decline what was assembled, or ask for changes",
      tag,
      body: ReviewBody,
      answer: Reviewed,
      handle: Effect.fn("coordinator.review")(function* ({ params, body, caller }) {
        const runId = params.coordinatorRunId
        const decision = yield* readReview(body, subjectOf(caller))
        if (decision.approved) {
          const state = (yield* store.load(runId)) ?? (yield* refuse("no_assembly_review_pending"))
          if (state.plan?.status === "in_review" || state.plan?.status === "rai_blocked") {
            yield* mayApprove(state, decision.by)
          }
        }
        yield* store.decide(runId, (state, stamp) => Effect.fromResult(reviewAssembly(state, decision, stamp)))
        return { runId, accepted: true }
      }),
    }),
    route<ByRun, None, typeof SteerBody.Type, typeof DirectiveAnswer.Type>({
      method: "POST",
      path: "/api/runs/{coordinatorRunId}/steer",
      access: contributor,
      summary: "Stop, redirect, amend or inform the agents of a coordinator run, or start lost work again",
      tag,
      body: SteerBody,
      answer: DirectiveAnswer,
      statuses: [201],
      handle: Effect.fn("coordinator.steer")(function* ({ params, body, caller }) {
        const runId = params.coordinatorRunId
        const by = subjectOf(caller)
        const kind = yield* readKind(body.kind)
        const targetChildRunId = body.target_child_run_id ?? body.targetChildRunId ?? null
        const instruction = body.instruction?.trim() ?? ""
        let directiveId = 0
        const after = yield* store.decide(runId, (state, stamp) => {
          directiveId = stamp.id
          return Effect.fromResult(steer(state, { kind, targetChildRunId, instruction, by }, stamp))
        })
        // a stop is at once: whatever works now is ended, whoever drives it
        if (kind === "stop") {
          const children = (after.plan?.subtasks ?? []).flatMap((subtask) => childOf(subtask) ?? [])
          const stopped = targetChildRunId === null ? children : [targetChildRunId]
          yield* Effect.forEach(stopped, (childRunId) =>
            runs
              .cancel(childRunId, { reason: "steering_stop", by })
              .pipe(Effect.catchTag("Refusal", () => Effect.void)),
          )
        }
        const directive = after.directives.find((each) => each.directiveId === directiveId)
        if (directive === undefined) return yield* refuse("conflict", { message: "The directive was not taken." })
        return reply.json(201, directiveAnswer(directive))
      }),
    }),
  ]
})
