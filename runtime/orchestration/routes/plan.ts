/** What a coordinator run is at: its outcome spec, its plan, its children, and why it did what it did. */
import { Duration, Effect, Option, Schema } from "effect"
import { subjectOf } from "#core/auth/caller.ts"
import { EventLog } from "#core/event-log.ts"
import { query } from "#core/query.ts"
import { refuse, refuseInput } from "#core/refusal.ts"
import { access, type Route, route } from "#core/route.ts"
import { isTerminal } from "#core/run/status.ts"
import {
  ChildAnswer,
  childrenAnswer,
  OutcomeSpecAnswer,
  outcomeSpecAnswer,
  WorkPlanAnswer,
  workPlanAnswer,
} from "#runtime/coordinator/answers.ts"
import { confirmSpec, reviseSpec } from "#runtime/coordinator/command.ts"
import { explain } from "#runtime/coordinator/explain.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"

const tag = "Coordinator"
const viewer = access.run("viewer")
const contributor = access.run("contributor")

interface ById {
  readonly id: string
}
type None = Record<never, never>

/** Between two looks at a row that is awaited. */
const pause = "100 millis"
const specPatience = Duration.seconds(3)
const planPatience = Duration.seconds(5)

const maxFeedback = 8_000

const ConfirmBody = Schema.Struct({ allowTaskPromotion: Schema.optionalKey(Schema.NullOr(Schema.Boolean)) })
const ReviseBody = Schema.Struct({
  feedback: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(maxFeedback)))),
})

const ExplainQuery = Schema.Struct({ seq: Schema.optionalKey(query.int({ minimum: 1 })) })
const ExplainedEvent = Schema.Struct({
  sequence: Schema.Int,
  type: Schema.String,
  payload: Schema.Record(Schema.String, Schema.Unknown),
})
const ExplainAnswer = Schema.Struct({ event: ExplainedEvent, because: Schema.Array(ExplainedEvent) })

export const planRoutes: Effect.Effect<ReadonlyArray<Route>, never, CoordinatorStore | EventLog> = Effect.gen(
  function* () {
    const store = yield* CoordinatorStore
    const log = yield* EventLog

    const state = Effect.fnUntraced(function* (runId: string) {
      return (
        (yield* store.load(runId)) ??
        (yield* refuse("not_found", {
          message: "This is not a coordinator run, or it was started by an older version.",
        }))
      )
    })

    /** What `read` finds in the state; waited for a little where it is not there yet. */
    const awaited = <A>(runId: string, read: (state: CoordinatorState) => A | undefined, patience: Duration.Duration) =>
      Effect.gen(function* () {
        const found = yield* state(runId)
        const present = read(found)
        // what has ended brings nothing more
        if (present !== undefined || isTerminal(found.run.status)) return present
        const look = Effect.gen(function* () {
          yield* Effect.sleep(pause)
          const later = yield* store.load(runId)
          return later === undefined ? undefined : read(later)
        })
        const late = yield* look.pipe(
          Effect.repeat({ until: (value) => value !== undefined }),
          Effect.timeoutOption(patience),
        )
        return Option.getOrUndefined(late)
      })

    /** Every event of the run, page by page. */
    const wholeLog = Effect.fnUntraced(function* (runId: string) {
      const events = []
      for (let after = 0; ; ) {
        const page = yield* log.read(runId, { after })
        if (page.length === 0) return events
        events.push(...page)
        after = page.at(-1)?.sequence ?? after
      }
    })

    return [
      route<ById, None, undefined, typeof OutcomeSpecAnswer.Type>({
        method: "GET",
        path: "/api/runs/{id}/outcome-spec",
        access: viewer,
        summary: "The outcome spec; 404 before its first draft",
        tag,
        answer: OutcomeSpecAnswer,
        handle: Effect.fn("coordinator.spec")(function* ({ params }) {
          const spec = yield* awaited(params.id, outcomeSpecAnswer, specPatience)
          return spec ?? (yield* refuse("not_found", { message: "The outcome spec is not drafted yet." }))
        }),
      }),
      route<ById, None, typeof ConfirmBody.Type, typeof OutcomeSpecAnswer.Type>({
        method: "POST",
        path: "/api/runs/{id}/outcome-spec/confirm",
        access: contributor,
        summary: "Confirm the outcome spec: the work is planned and begins",
        tag,
        body: ConfirmBody,
        bodyOptional: true,
        answer: OutcomeSpecAnswer,
        handle: Effect.fn("coordinator.confirm")(function* ({ params, body, caller }) {
          const allowTaskPromotion = body?.allowTaskPromotion ?? false
          const after = yield* store.decide(params.id, (found) =>
            Effect.fromResult(confirmSpec(found, { by: subjectOf(caller), allowTaskPromotion })),
          )
          return outcomeSpecAnswer(after) ?? (yield* refuse("no_pending_gate"))
        }),
      }),
      route<ById, None, typeof ReviseBody.Type, typeof OutcomeSpecAnswer.Type>({
        method: "POST",
        path: "/api/runs/{id}/outcome-spec/revise",
        access: contributor,
        summary: "Have the outcome spec drafted again, with feedback",
        tag,
        body: ReviseBody,
        answer: OutcomeSpecAnswer,
        handle: Effect.fn("coordinator.revise")(function* ({ params, body, caller }) {
          const feedback = body.feedback?.trim() ?? ""
          if (feedback === "") {
            return yield* refuseInput(
              [{ path: "body.feedback", message: "feedback is required." }],
              "feedback is required.",
            )
          }
          const after = yield* store.decide(params.id, (found) =>
            Effect.fromResult(reviseSpec(found, { by: subjectOf(caller), feedback })),
          )
          return outcomeSpecAnswer(after) ?? (yield* refuse("no_pending_gate"))
        }),
      }),
      route<ById, None, undefined, typeof WorkPlanAnswer.Type>({
        method: "GET",
        path: "/api/runs/{id}/work-plan",
        access: viewer,
        summary: "The work plan; 404 before it is drafted",
        tag,
        answer: WorkPlanAnswer,
        handle: Effect.fn("coordinator.plan")(function* ({ params }) {
          const plan = yield* awaited(params.id, workPlanAnswer, planPatience)
          return plan ?? (yield* refuse("not_found", { message: "The work plan is not drafted yet." }))
        }),
      }),
      route<ById, None, undefined, ReadonlyArray<typeof ChildAnswer.Type>>({
        method: "GET",
        path: "/api/runs/{id}/children",
        access: viewer,
        summary: "The child run of each subtask",
        tag,
        answer: Schema.Array(ChildAnswer),
        handle: ({ params }) => Effect.map(state(params.id), childrenAnswer),
      }),
      route<ById, typeof ExplainQuery.Type, undefined, typeof ExplainAnswer.Type>({
        method: "GET",
        path: "/api/runs/{id}/explain",
        access: viewer,
        summary: "Why the coordinator did what it did at, or last before, a point of its log",
        tag,
        query: ExplainQuery,
        answer: ExplainAnswer,
        handle: Effect.fn("coordinator.explain")(function* ({ params, query: asked }) {
          yield* state(params.id)
          const events = yield* wholeLog(params.id)
          const found = explain(events, asked.seq ?? Number.MAX_SAFE_INTEGER)
          return found ?? (yield* refuse("not_found", { message: "The coordinator had not done anything by then." }))
        }),
      }),
    ]
  },
)
