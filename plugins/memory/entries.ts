/** What agents remember. Trust follows what a memory was made from: see `memory_entries` and `settleTrust`. */
import { Effect } from "effect"
import { refuse } from "#core/refusal.ts"
import { type Author, agentNameFor, storedText } from "#plugins/memory/author.ts"
import type { EntryStore } from "#plugins/memory/entry-store.ts"
import { readOneOf } from "#plugins/memory/one-of.ts"
import { readAgentName, readAll, readOptional, readTags, readText } from "#plugins/memory/text.ts"
import { importances, maxContent, memoryTypes, rankOf } from "#plugins/memory/values.ts"

type Maybe = string | null | undefined

export interface EntryInput {
  readonly agent_name?: Maybe
  readonly type?: Maybe
  readonly content?: Maybe
  readonly importance?: Maybe
  readonly tags?: Maybe
  readonly session_id?: Maybe
}

const notFound = refuse("memory_not_found", {
  extra: { hint: "List the memories of the agent to see their ids." },
})

const maxSessionId = 200

export const makeEntries = (store: EntryStore) => ({
  ...store,

  get: Effect.fn("memory.get")(function* (projectId: string, agentName: string, id: number) {
    return (yield* store.find(projectId, id, agentName)) ?? (yield* notFound)
  }),

  /** It comes from all that the author's run was given and nobody vouched for, too. */
  record: Effect.fn("memory.record")(function* (projectId: string, input: EntryInput, author: Author) {
    const agent = yield* agentNameFor(author, input.agent_name)
    const read = yield* Effect.fromResult(
      readAll({
        agentName: readAgentName(agent, "body.agent_name"),
        type: readOneOf(memoryTypes, input.type, "body.type"),
        content: readText(input.content, "body.content", maxContent),
        importance: readOneOf(importances, input.importance?.trim() ? input.importance : "medium", "body.importance"),
        tags: readTags(input.tags, "body.tags"),
        sessionId: readOptional(input.session_id, "body.session_id", maxSessionId),
      }),
    )
    const derivedFrom = author.run === null ? [] : yield* store.doubtfulReads(author.run.runId)
    const content = storedText(author, read.content)
    return yield* store.insert(
      projectId,
      { ...read, content, importance: rankOf(read.importance), derivedFrom },
      author,
    )
  }),

  update: Effect.fn("memory.change")(function* (projectId: string, id: number, input: EntryInput, author: Author) {
    const read = yield* Effect.fromResult(
      readAll({
        ...(input.type == null ? {} : { type: readOneOf(memoryTypes, input.type, "body.type") }),
        ...(input.content == null ? {} : { content: readText(input.content, "body.content", maxContent) }),
        ...(input.importance == null
          ? {}
          : { importance: readOneOf(importances, input.importance, "body.importance") }),
        ...(input.tags === undefined ? {} : { tags: readTags(input.tags, "body.tags") }),
      }),
    )
    const { importance, ...rest } = read
    const change = { ...rest, ...(importance === undefined ? {} : { importance: rankOf(importance) }) }
    return (yield* store.update(projectId, id, change, author)) ?? (yield* notFound)
  }),

  /**
   * Vouched for. A coordinator may do so for what agents and people wrote; text of strangers, of files and of times
   * before provenance was kept needs a person.
   */
  promote: Effect.fn("memory.promote")(function* (projectId: string, agentName: string, id: number, author: Author) {
    const entry = (yield* store.find(projectId, id, agentName)) ?? (yield* notFound)
    if (author.run !== null && entry.sourceKind !== "agent" && entry.sourceKind !== "user") {
      return yield* refuse("forbidden", { message: `A memory from ${entry.sourceKind} needs an owner's approval.` })
    }
    const approved = (yield* store.approve(projectId, id, author.identity)) ?? (yield* notFound)
    return { entry: approved, heldBackBy: approved.trust < 2 ? yield* store.heldBackBy(id) : [] }
  }),
})

export type Entries = ReturnType<typeof makeEntries>
