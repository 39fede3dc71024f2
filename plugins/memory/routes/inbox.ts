/** The decision inbox over HTTP. */
import { Effect, Schema } from "effect"
import { PageOf, pageOf, pageQuery, windowOf } from "#core/page.ts"
import { access, reply, route } from "#core/route.ts"
import { InboxAnswer, inboxAnswer, MergedAnswer, RejectedAnswer } from "#plugins/memory/answers.ts"
import type { Memory } from "#plugins/memory/memory.ts"
import { agentName, ById, field, type Nothing, rowId, tag } from "#plugins/memory/routes/input.ts"
import { decisionTypes, inboxStatuses } from "#plugins/memory/values.ts"

const path = "/api/projects/{id}/decisions/inbox"

export const SubmitBody = Schema.Struct({
  agent_name: field,
  slug: field,
  type: field,
  title: field,
  content: field,
  rationale: field,
})

const ListQuery = Schema.Struct({
  ...pageQuery,
  agent: Schema.optionalKey(agentName),
  type: Schema.optionalKey(Schema.Literals(decisionTypes)),
  status: Schema.optionalKey(Schema.Literals([...inboxStatuses, "all"])),
})

const List = PageOf(InboxAnswer)
const ByEntry = Schema.Struct({ id: Schema.String, entryId: rowId })
type ByEntry = typeof ByEntry.Type

export const inboxRoutes = ({ inbox, authors, foreignText }: Memory) => {
  const submit = route<ById, Nothing, typeof SubmitBody.Type, InboxAnswer>({
    method: "POST",
    path,
    access: access.project("contributor", "id", "any"),
    summary: "Propose a decision; the same slug of the same agent again changes the proposal while it is pending",
    tag,
    params: ById,
    body: SubmitBody,
    answer: InboxAnswer,
    statuses: [200, 201],
    refuses: ["conflict"],
    handle: Effect.fn("memory.inbox.submit")(function* ({ params, body, caller }) {
      const submitted = yield* inbox.submit(params.id, body, yield* authors.ofCaller(caller))
      return reply.json(submitted._tag === "Added" ? 201 : 200, inboxAnswer(submitted.entry))
    }),
  })

  const list = route<ById, typeof ListQuery.Type, undefined, typeof List.Type>({
    method: "GET",
    path,
    access: access.project("viewer", "id", "any"),
    summary: "Proposed decisions, newest first; those that are pending, or of another status",
    tag,
    params: ById,
    query: ListQuery,
    answer: List,
    handle: Effect.fn("memory.inbox.list")(function* ({
      params,
      query: { agent, type, status = "pending", ...page },
      caller,
    }) {
      const window = windowOf(page)
      const filter = { agentName: agent, type, status: status === "all" ? undefined : status }
      const rows = yield* inbox.list(params.id, filter, window)
      if (caller.kind === "run" && rows.some(({ sourceRunId }) => sourceRunId !== caller.runId)) {
        yield* foreignText.note(caller.runId)
      }
      return pageOf(window, rows.map(inboxAnswer), window.paged ? yield* inbox.count(params.id, filter) : 0)
    }),
  })

  const merging = (name: "merge" | "promote", status: 200 | 201) =>
    route<ByEntry, Nothing, undefined, typeof MergedAnswer.Type>({
      method: "POST",
      path: `${path}/{entryId}/${name}`,
      access: access.project("owner", "id", "coordinator"),
      summary: "Make a decision of a pending proposal; an owner vouches for it by that",
      tag,
      params: ByEntry,
      answer: MergedAnswer,
      statuses: [status],
      refuses: ["conflict"],
      handle: Effect.fn(`memory.inbox.${name}`)(function* ({ params, caller }) {
        const merged = yield* inbox.merge(params.id, params.entryId, yield* authors.ofCaller(caller))
        const { id, status: now, decisionId, mergedAt } = merged
        return reply.json(status, { id, status: now, decisionId, mergedAt: mergedAt ?? "" })
      }),
    })

  const merge = merging("merge", 201)

  const reject = route<ByEntry, Nothing, undefined, typeof RejectedAnswer.Type>({
    method: "POST",
    path: `${path}/{entryId}/reject`,
    access: access.project("owner", "id", "coordinator"),
    summary: "Reject a pending proposal; it is kept",
    tag,
    params: ByEntry,
    answer: RejectedAnswer,
    refuses: ["conflict"],
    handle: Effect.fn("memory.inbox.reject")(function* ({ params }) {
      const { id, status } = yield* inbox.reject(params.id, params.entryId)
      return { id, status }
    }),
  })

  return { submit, list, merge, promote: merging("promote", 200), reject }
}
