/** Memories of agents over HTTP. */
import { Effect, Result, Schema } from "effect"
import type { Caller } from "#core/auth/caller.ts"
import { PageOf, type PageQuery, pageOf, pageQuery, windowOf } from "#core/page.ts"
import { query } from "#core/query.ts"
import { refuseInput } from "#core/refusal.ts"
import { access, reply, route } from "#core/route.ts"
import { MemoryAnswer, memoryAnswer, PromotedAnswer } from "#plugins/memory/answers.ts"
import type { EntryFilter } from "#plugins/memory/entry-store.ts"
import type { Memory } from "#plugins/memory/memory.ts"
import { agentName, ById, field, type Nothing, rowId, tag } from "#plugins/memory/routes/input.ts"
import { readTags } from "#plugins/memory/text.ts"
import { importances, memoryTypes, rankOf } from "#plugins/memory/values.ts"

const path = "/api/projects/{id}/agents/{name}/memory"
const onePath = `${path}/{memId}`

const fields = { type: field, content: field, importance: field, tags: field }
const RecordBody = Schema.Struct({ ...fields, session_id: field })
const UpdateBody = Schema.Struct(fields)

const type = Schema.optionalKey(Schema.Literals(memoryTypes))
const ListQuery = Schema.Struct({ ...pageQuery, type, importance: Schema.optionalKey(Schema.Literals(importances)) })
const SearchQuery = Schema.Struct({ ...pageQuery, type, tags: Schema.optionalKey(query.text(2_000)) })

const List = PageOf(MemoryAnswer)
const ByAgent = Schema.Struct({ id: Schema.String, name: agentName })
type ByAgent = typeof ByAgent.Type
const ByMemory = Schema.Struct({ id: Schema.String, name: agentName, memId: rowId })
type ByMemory = typeof ByMemory.Type

export const entryRoutes = ({ entries, authors }: Memory) => {
  const page = Effect.fnUntraced(function* (projectId: string, filter: EntryFilter, asked: PageQuery, caller: Caller) {
    const window = windowOf(asked)
    const rows = yield* entries.list(projectId, filter, window)
    if (caller.kind === "run") {
      yield* entries.noteReads(
        caller.runId,
        rows.map(({ id }) => id),
      )
    }
    return pageOf(window, rows.map(memoryAnswer), window.paged ? yield* entries.count(projectId, filter) : 0)
  })

  const record = route<ByAgent, Nothing, typeof RecordBody.Type, MemoryAnswer>({
    method: "POST",
    path,
    access: access.project("contributor", "id", "any"),
    summary: "Add to the memory of an agent",
    tag,
    params: ByAgent,
    body: RecordBody,
    answer: MemoryAnswer,
    statuses: [201],
    handle: Effect.fn("memory.entries.record")(function* ({ params, body, caller }) {
      const author = yield* authors.ofCaller(caller)
      const entry = yield* entries.record(params.id, { ...body, agent_name: params.name }, author)
      return reply.json(201, memoryAnswer(entry))
    }),
  })

  const list = route<ByAgent, typeof ListQuery.Type, undefined, typeof List.Type>({
    method: "GET",
    path,
    access: access.project("viewer", "id", "any"),
    summary: "Memories of an agent, newest first",
    tag,
    params: ByAgent,
    query: ListQuery,
    answer: List,
    handle: ({ params, query: asked, caller }) =>
      page(
        params.id,
        {
          agentName: params.name,
          type: asked.type,
          importance: asked.importance === undefined ? undefined : rankOf(asked.importance),
        },
        asked,
        caller,
      ),
  })

  const get = route<ByMemory, Nothing, undefined, MemoryAnswer>({
    method: "GET",
    path: onePath,
    access: access.project("viewer", "id", "any"),
    summary: "One memory of an agent",
    tag,
    params: ByMemory,
    answer: MemoryAnswer,
    refuses: ["memory_not_found"],
    handle: Effect.fn("memory.entries.get")(function* ({ params, caller }) {
      const entry = yield* entries.get(params.id, params.name, params.memId)
      if (caller.kind === "run") yield* entries.noteReads(caller.runId, [entry.id])
      return memoryAnswer(entry)
    }),
  })

  const update = route<ByMemory, Nothing, typeof UpdateBody.Type, MemoryAnswer>({
    method: "PUT",
    path: onePath,
    access: access.project("contributor"),
    summary: "Change a memory; it waits for approval again",
    tag,
    params: ByMemory,
    body: UpdateBody,
    answer: MemoryAnswer,
    refuses: ["memory_not_found"],
    handle: Effect.fn("memory.entries.update")(function* ({ params, body, caller }) {
      yield* entries.get(params.id, params.name, params.memId)
      return memoryAnswer(yield* entries.update(params.id, params.memId, body, yield* authors.ofCaller(caller)))
    }),
  })

  const promote = route<ByMemory, Nothing, undefined, typeof PromotedAnswer.Type>({
    method: "POST",
    path: `${onePath}/promote`,
    access: access.project("owner", "id", "coordinator"),
    summary: "Vouch for a memory: other agents may be told of it, once all that it was made from is vouched for too",
    tag,
    params: ByMemory,
    answer: PromotedAnswer,
    refuses: ["memory_not_found", "forbidden"],
    handle: Effect.fn("memory.entries.promote")(function* ({ params, caller }) {
      const author = yield* authors.ofCaller(caller)
      const { entry, heldBackBy } = yield* entries.promote(params.id, params.name, params.memId, author)
      if (caller.kind === "run") yield* entries.noteReads(caller.runId, [entry.id])
      return { ...memoryAnswer(entry), heldBackBy }
    }),
  })

  const search = route<ById, typeof SearchQuery.Type, undefined, typeof List.Type>({
    method: "GET",
    path: "/api/projects/{id}/memory",
    access: access.project("viewer", "id", "any"),
    summary: "Memories of all agents, newest first; with any of the tags",
    tag,
    params: ById,
    query: SearchQuery,
    answer: List,
    handle: Effect.fn("memory.entries.search")(function* ({ params, query: { tags, ...asked }, caller }) {
      const wanted = readTags(tags, "query.tags")
      if (Result.isFailure(wanted)) return yield* refuseInput([wanted.failure])
      return yield* page(params.id, { type: asked.type, tags: wanted.success }, asked, caller)
    }),
  })

  return { record, list, get, update, promote, search }
}
