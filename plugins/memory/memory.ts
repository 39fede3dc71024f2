/** The whole memory of the projects of this service: what routes, agent tools, files and contexts are made of. */
import type { EventLogShape } from "#core/event-log.ts"
import type { SqlShape } from "#core/sql.ts"
import { makeAuthors } from "#plugins/memory/author.ts"
import { makeDecisionStore } from "#plugins/memory/decision-store.ts"
import { makeDecisions } from "#plugins/memory/decisions.ts"
import { makeEntries } from "#plugins/memory/entries.ts"
import { makeEntryStore } from "#plugins/memory/entry-store.ts"
import { makeForeignText } from "#plugins/memory/foreign-text.ts"
import { makeInbox } from "#plugins/memory/inbox.ts"
import { makeInboxStore } from "#plugins/memory/inbox-store.ts"
import { makeSaidStore } from "#plugins/memory/said-store.ts"
import { makeSessionStore } from "#plugins/memory/session-store.ts"
import { makeSessions } from "#plugins/memory/sessions.ts"

export const makeMemory = (sql: SqlShape, log: EventLogShape) => {
  const entries = makeEntryStore(sql)
  const foreignText = makeForeignText(sql, log)
  return {
    authors: makeAuthors(foreignText),
    foreignText,
    inbox: makeInbox(makeInboxStore(sql)),
    decisions: makeDecisions(makeDecisionStore(sql)),
    entries: makeEntries(entries),
    said: makeSaidStore(sql),
    sessions: makeSessions(makeSessionStore(sql), entries),
  }
}

export type Memory = ReturnType<typeof makeMemory>
