/** Decisions over HTTP. */
import { Effect, Schema } from "effect"
import type { Caller } from "#core/auth/caller.ts"
import { PageOf, pageOf, pageQuery, windowOf } from "#core/page.ts"
import { access, reply, route } from "#core/route.ts"
import { DecisionAnswer, decisionAnswer } from "#plugins/memory/answers.ts"
import type { Decision } from "#plugins/memory/decision-store.ts"
import type { Memory } from "#plugins/memory/memory.ts"
import { agentName, ById, field, type Nothing, rowId, tag } from "#plugins/memory/routes/input.ts"
import { decisionStatuses, decisionTypes } from "#plugins/memory/values.ts"

const path = "/api/projects/{id}/decisions"
const onePath = `${path}/{decisionId}`

const CreateBody = Schema.Struct({
  agent_name: field,
  type: field,
  title: field,
  content: field,
  rationale: field,
  tags: field,
})

const UpdateBody = Schema.Struct({
  status: field,
  content: field,
  rationale: field,
  superseded_by_id: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.Int, Schema.String]))),
})

const ListQuery = Schema.Struct({
  ...pageQuery,
  agent: Schema.optionalKey(agentName),
  type: Schema.optionalKey(Schema.Literals(decisionTypes)),
  status: Schema.optionalKey(Schema.Literals([...decisionStatuses, "all"])),
})

const List = PageOf(DecisionAnswer)
const ByDecision = Schema.Struct({ id: Schema.String, decisionId: rowId })
type ByDecision = typeof ByDecision.Type

export const decisionRoutes = ({ decisions, authors, foreignText }: Memory) => {
  /** A coordinator is given decisions of others that nobody vouched for, too. */
  const noteDoubtful = Effect.fnUntraced(function* (caller: Caller, given: ReadonlyArray<Decision>) {
    if (caller.kind !== "run") return
    const { runId } = caller
    const doubtful = given.some(({ trustState, sourceRunId }) => trustState !== "approved" && sourceRunId !== runId)
    if (doubtful) yield* foreignText.note(runId)
  })

  const create = route<ById, Nothing, typeof CreateBody.Type, DecisionAnswer>({
    method: "POST",
    path,
    access: access.project("owner", "id", "coordinator"),
    summary: "Take a decision; a coordinator's waits for approval before agents are told",
    tag,
    params: ById,
    body: CreateBody,
    answer: DecisionAnswer,
    statuses: [201],
    handle: Effect.fn("memory.decisions.create")(function* ({ params, body, caller }) {
      const decision = yield* decisions.create(params.id, body, yield* authors.ofCaller(caller))
      return reply.json(201, decisionAnswer(decision))
    }),
  })

  const list = route<ById, typeof ListQuery.Type, undefined, typeof List.Type>({
    method: "GET",
    path,
    access: access.project("viewer", "id", "any"),
    summary: "Decisions, newest first; those that are active, or of another status",
    tag,
    params: ById,
    query: ListQuery,
    answer: List,
    handle: Effect.fn("memory.decisions.list")(function* ({
      params,
      query: { agent, type, status = "active", ...page },
      caller,
    }) {
      const window = windowOf(page)
      // a coordinator tends the decisions; other agents are told of what was vouched for
      const approved = caller.kind === "run" && !caller.coordinator
      const filter = { agentName: agent, type, status: status === "all" ? undefined : status, approved }
      const rows = yield* decisions.list(params.id, filter, window)
      yield* noteDoubtful(caller, rows)
      return pageOf(window, rows.map(decisionAnswer), window.paged ? yield* decisions.count(params.id, filter) : 0)
    }),
  })

  const get = route<ByDecision, Nothing, undefined, DecisionAnswer>({
    method: "GET",
    path: onePath,
    access: access.project("viewer", "id", "coordinator"),
    summary: "One decision",
    tag,
    params: ByDecision,
    answer: DecisionAnswer,
    handle: Effect.fn("memory.decisions.get")(function* ({ params, caller }) {
      const decision = yield* decisions.get(params.id, params.decisionId)
      yield* noteDoubtful(caller, [decision])
      return decisionAnswer(decision)
    }),
  })

  const update = route<ByDecision, Nothing, typeof UpdateBody.Type, DecisionAnswer>({
    method: "PUT",
    path: onePath,
    access: access.project("owner", "id", "coordinator"),
    summary: "Change a decision, or let another one supersede it",
    tag,
    params: ByDecision,
    body: UpdateBody,
    answer: DecisionAnswer,
    handle: Effect.fn("memory.decisions.update")(function* ({ params, body, caller }) {
      const author = yield* authors.ofCaller(caller)
      const decision = yield* decisions.update(params.id, params.decisionId, body, author)
      yield* noteDoubtful(caller, [decision])
      return decisionAnswer(decision)
    }),
  })

  const approve = route<ByDecision, Nothing, undefined, DecisionAnswer>({
    method: "POST",
    path: `${onePath}/approve`,
    access: access.project("owner"),
    summary: "Vouch for a decision that is pending or from before provenance was kept",
    tag,
    params: ByDecision,
    answer: DecisionAnswer,
    handle: Effect.fn("memory.decisions.approve")(function* ({ params, caller }) {
      const author = yield* authors.ofCaller(caller)
      return decisionAnswer(yield* decisions.approve(params.id, params.decisionId, author))
    }),
  })

  return { create, list, get, update, approve }
}
