/** What a project works on now: started, changed and ended by its people and agents. */
import { Effect } from "effect"
import { newId } from "#core/ids.ts"
import { refuse } from "#core/refusal.ts"
import { type Author, storedText } from "#plugins/memory/author.ts"
import type { EntryStore } from "#plugins/memory/entry-store.ts"
import type { SessionStore, SessionWriter } from "#plugins/memory/session-store.ts"
import { readAll, readLine, readOptional, readText } from "#plugins/memory/text.ts"
import { maxContent } from "#plugins/memory/values.ts"

type Maybe = string | null | undefined

export interface SessionInput {
  readonly session_id?: Maybe
  readonly focus_area?: Maybe
  /** Another name of `focus_area`. */
  readonly focus?: Maybe
  readonly active_issues?: Maybe
  readonly summary?: Maybe
  readonly serialized_state?: Maybe
  readonly end?: boolean | null | undefined
}

const maxFocus = 2_000
const maxState = 200_000
const maxSessionId = 200

const noneOpen = refuse("not_found", { message: "No session is open." })
const notFound = refuse("not_found", { message: "There is no such session in this project." })

export const makeSessions = (store: SessionStore, entries: EntryStore) => {
  const writerOf = Effect.fnUntraced(function* (author: Author) {
    if (author.run === null) return "person" satisfies SessionWriter
    if (author.sourceKind !== "agent") return "doubtful" satisfies SessionWriter
    const doubtful = yield* entries.doubtfulReads(author.run.runId)
    return doubtful.length > 0 ? ("doubtful" satisfies SessionWriter) : ("agent" satisfies SessionWriter)
  })

  const readChange = Effect.fnUntraced(function* (input: SessionInput, author: Author) {
    const focus = input.focus_area ?? input.focus
    const read = yield* Effect.fromResult(
      readAll({
        ...(focus == null ? {} : { focusArea: readText(focus, "body.focus_area", maxFocus) }),
        ...(input.active_issues === undefined
          ? {}
          : { activeIssues: readOptional(input.active_issues, "body.active_issues", maxContent) }),
        ...(input.summary === undefined ? {} : { summary: readOptional(input.summary, "body.summary", maxContent) }),
        ...(input.serialized_state === undefined
          ? {}
          : { serializedState: readOptional(input.serialized_state, "body.serialized_state", maxState) }),
      }),
    )
    const cleaned = Object.fromEntries(Object.entries(read).map(([name, text]) => [name, storedText(author, text)]))
    // the same members, each a text or null as before
    return { ...(cleaned as typeof read), ...(input.end == null ? {} : { end: input.end }) }
  })

  return {
    ...store,
    /** Without checks: see `session-store.ts`. */
    begin: store.start,

    start: Effect.fn("memory.startSession")(function* (projectId: string, input: SessionInput, author: Author) {
      const given = yield* readChange({ ...input, focus_area: input.focus_area ?? input.focus ?? "" }, author)
      const { sessionId } = yield* Effect.fromResult(
        readAll({
          sessionId: readLine(input.session_id?.trim() ? input.session_id : newId(), "body.session_id", maxSessionId),
        }),
      )
      const writer = yield* writerOf(author)
      const session = {
        sessionId,
        focusArea: given.focusArea ?? "",
        activeIssues: given.activeIssues ?? null,
        summary: given.summary ?? null,
        serializedState: given.serializedState ?? null,
      }
      const started = yield* store.start(projectId, session, writer !== "doubtful")
      return started ?? (yield* refuse("conflict", { message: "There is a session with this session_id already." }))
    }),

    open: Effect.fn("memory.currentSession")(function* (projectId: string) {
      return (yield* store.current(projectId)) ?? (yield* noneOpen)
    }),

    changeOpen: Effect.fn("memory.updateSession")(function* (projectId: string, input: SessionInput, author: Author) {
      const change = yield* readChange(input, author)
      return (yield* store.updateCurrent(projectId, change, yield* writerOf(author))) ?? (yield* noneOpen)
    }),

    change: Effect.fn("memory.patchSession")(function* (
      projectId: string,
      id: number,
      input: SessionInput,
      author: Author,
    ) {
      const change = yield* readChange(input, author)
      return (yield* store.update(projectId, id, change, yield* writerOf(author))) ?? (yield* notFound)
    }),
  }
}

export type Sessions = ReturnType<typeof makeSessions>
