/** What agents propose: submitted by any of them, merged or rejected by who may decide. */
import { Effect } from "effect"
import { refuse } from "#core/refusal.ts"
import { type Author, agentNameFor, storedText } from "#plugins/memory/author.ts"
import type { InboxStore } from "#plugins/memory/inbox-store.ts"
import { readOneOf } from "#plugins/memory/one-of.ts"
import { readAgentName, readAll, readLine, readOptional, readSlug, readText } from "#plugins/memory/text.ts"
import { decisionTypes, maxContent, maxTitle } from "#plugins/memory/values.ts"

export interface SubmissionInput {
  readonly agent_name?: string | null | undefined
  readonly slug?: string | null | undefined
  readonly type?: string | null | undefined
  readonly title?: string | null | undefined
  readonly content?: string | null | undefined
  readonly rationale?: string | null | undefined
}

const notPending = refuse("conflict", { message: "Entry is not pending or does not exist." })

export const makeInbox = (store: InboxStore) => ({
  ...store,

  submit: Effect.fn("memory.submit")(function* (projectId: string, input: SubmissionInput, author: Author) {
    const agent = yield* agentNameFor(author, input.agent_name)
    const read = yield* Effect.fromResult(
      readAll({
        agentName: readAgentName(agent, "body.agent_name"),
        slug: readSlug(input.slug, "body.slug"),
        type: readOneOf(decisionTypes, input.type, "body.type"),
        title: readLine(input.title?.trim() ? input.title : input.slug, "body.title", maxTitle),
        content: readText(input.content, "body.content", maxContent),
        rationale: readOptional(input.rationale, "body.rationale", maxContent),
      }),
    )
    const submitted = yield* store.submit(
      projectId,
      {
        ...read,
        title: storedText(author, read.title),
        content: storedText(author, read.content),
        rationale: storedText(author, read.rationale),
      },
      author,
    )
    if (submitted._tag === "Decided") {
      return yield* refuse("conflict", {
        message: `The entry ${submitted.entry.slug} of ${submitted.entry.agentName} was ${submitted.entry.status} already.`,
        extra: { status: submitted.entry.status },
      })
    }
    return submitted
  }),

  /** A person who merges vouches for the decision; a coordinator does not. */
  merge: Effect.fn("memory.merge")(function* (projectId: string, id: number, author: Author) {
    const merged = yield* store.merge(projectId, id, author.run === null ? author.identity : null)
    return merged ?? (yield* notPending)
  }),

  reject: Effect.fn("memory.reject")(function* (projectId: string, id: number) {
    return (yield* store.reject(projectId, id)) ?? (yield* notPending)
  }),
})

export type Inbox = ReturnType<typeof makeInbox>
