/** What was decided: by people, or by coordinators, whose decisions wait for a person's word before agents hear of them. */
import { Effect, Result } from "effect"
import { refuse, refuseInput } from "#core/refusal.ts"
import { type Author, agentNameFor, storedText } from "#plugins/memory/author.ts"
import { type DecisionStore, sourceOf } from "#plugins/memory/decision-store.ts"
import { readOneOf } from "#plugins/memory/one-of.ts"
import { readAgentName, readAll, readLine, readOptional, readTags, readText } from "#plugins/memory/text.ts"
import { decisionStatuses, decisionTypes, maxContent, maxName, maxTitle } from "#plugins/memory/values.ts"

type Maybe = string | null | undefined

export interface DecisionInput {
  readonly agent_name?: Maybe
  readonly type?: Maybe
  readonly title?: Maybe
  readonly content?: Maybe
  readonly rationale?: Maybe
  readonly tags?: Maybe
}

export interface DecisionChangeInput {
  readonly status?: Maybe
  readonly content?: Maybe
  readonly rationale?: Maybe
  readonly superseded_by_id?: number | string | null | undefined
}

const notFound = refuse("not_found", {
  message: "There is no such decision in this project.",
  extra: { hint: "List the decisions of the project to see their ids." },
})

/** Where there is no title, the first line says what it is about. */
const titleOf = ({ title, content }: DecisionInput): Maybe =>
  title?.trim() ? title : content?.trim().split(/\r?\n/, 1)[0]?.slice(0, maxTitle)

/** Who vouches for what the author writes: a person does, by writing it. */
const vouching = (author: Author): string | null => (author.run === null ? author.identity : null)

const readId = (value: number | string, path: string) => {
  const id = typeof value === "number" ? value : /^[1-9]\d{0,9}$/.test(value) ? Number(value) : Number.NaN
  return Number.isSafeInteger(id) && id > 0 && id <= 2_147_483_647
    ? Result.succeed(id)
    : Result.fail({ path, message: "superseded_by_id must be the id of a decision." })
}

export const makeDecisions = (store: DecisionStore) => {
  const get = Effect.fn("memory.decision")(function* (projectId: string, id: number) {
    return (yield* store.find(projectId, id)) ?? (yield* notFound)
  })

  return {
    ...store,
    get,

    create: Effect.fn("memory.decide")(function* (projectId: string, input: DecisionInput, author: Author) {
      const agent = yield* agentNameFor(author, input.agent_name)
      const read = yield* Effect.fromResult(
        readAll({
          agentName: readAgentName(agent?.trim() ? agent : author.identity.slice(0, maxName), "body.agent_name"),
          type: readOneOf(decisionTypes, input.type, "body.type"),
          title: readLine(titleOf(input), "body.title", maxTitle),
          content: readText(input.content, "body.content", maxContent),
          rationale: readOptional(input.rationale, "body.rationale", maxContent),
          tags: readTags(input.tags, "body.tags"),
        }),
      )
      return yield* store.insert(projectId, {
        ...read,
        title: storedText(author, read.title),
        content: storedText(author, read.content),
        rationale: storedText(author, read.rationale),
        source: sourceOf(author),
        approvedBy: vouching(author),
      })
    }),

    update: Effect.fn("memory.redecide")(function* (
      projectId: string,
      id: number,
      input: DecisionChangeInput,
      author: Author,
    ) {
      const { superseded_by_id: by } = input
      const read = yield* Effect.fromResult(
        readAll({
          ...(input.status == null ? {} : { status: readOneOf(decisionStatuses, input.status, "body.status") }),
          ...(input.content == null ? {} : { content: readText(input.content, "body.content", maxContent) }),
          ...(input.rationale === undefined
            ? {}
            : { rationale: readOptional(input.rationale, "body.rationale", maxContent) }),
          ...(by == null ? {} : { supersededById: readId(by, "body.superseded_by_id") }),
        }),
      )
      if (read.supersededById === id) {
        const message = "A decision cannot supersede itself."
        return yield* refuseInput([{ path: "body.superseded_by_id", message }], message)
      }
      if (read.supersededById !== undefined) yield* get(projectId, read.supersededById)
      const change = {
        ...read,
        ...(read.content === undefined ? {} : { content: storedText(author, read.content) }),
        ...(read.rationale === undefined ? {} : { rationale: storedText(author, read.rationale) }),
      }
      return (yield* store.update(projectId, id, change, vouching(author))) ?? (yield* notFound)
    }),

    approve: Effect.fn("memory.approveDecision")(function* (projectId: string, id: number, author: Author) {
      return (yield* store.approve(projectId, id, author.identity)) ?? (yield* notFound)
    }),
  }
}

export type Decisions = ReturnType<typeof makeDecisions>
