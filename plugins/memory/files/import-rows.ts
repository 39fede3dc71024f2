/** One entry of a file becomes one row, checked like any other input. True where it is new. */
import { Effect } from "effect"
import { newId } from "#core/ids.ts"
import { refuseInput } from "#core/refusal.ts"
import type { Author } from "#plugins/memory/author.ts"
import { sourceOf } from "#plugins/memory/decision-store.ts"
import type { DecisionText } from "#plugins/memory/files/decision-files.ts"
import type { NowText, ProposalText } from "#plugins/memory/files/front-matter-files.ts"
import type { EntryText } from "#plugins/memory/files/memory-files.ts"
import type { Memory } from "#plugins/memory/memory.ts"
import { readOneOf } from "#plugins/memory/one-of.ts"
import type { SaidEntry } from "#plugins/memory/said-store.ts"
import { readAgentName, readAll, readLine, readOptional, readTags, readText } from "#plugins/memory/text.ts"
import {
  decisionStatuses,
  decisionTypes,
  importances,
  maxContent,
  maxTitle,
  memoryTypes,
  rankOf,
} from "#plugins/memory/values.ts"

/** How often the files have said this by now: what they say twice is there twice. */
const occurrences = () => {
  const seen = new Map<string, number>()
  return (...parts: ReadonlyArray<string>): number => {
    const key = JSON.stringify(parts)
    const count = (seen.get(key) ?? 0) + 1
    seen.set(key, count)
    return count
  }
}

export const importDecision = ({ decisions }: Memory, projectId: string, author: Author) => {
  const occurrence = occurrences()
  return Effect.fnUntraced(function* (text: DecisionText) {
    const decision = yield* Effect.fromResult(
      readAll({
        agentName: readAgentName(text.agentName, "agent"),
        type: readOneOf(decisionTypes, text.type, "type"),
        status: readOneOf(decisionStatuses, text.status, "status"),
        title: readLine(text.title, "title", maxTitle),
        content: readText(text.content, "content", maxContent),
        rationale: readOptional(text.rationale, "rationale", maxContent),
        tags: readTags(text.tags, "tags"),
      }),
    )
    const nth = occurrence(decision.agentName, decision.type, decision.title, decision.content)
    if ((yield* decisions.countSame(projectId, decision)) >= nth) return false
    yield* decisions.insert(projectId, { ...decision, source: sourceOf(author), approvedBy: null })
    return true
  })
}

/** A slug that is taken is left to whoever has it. */
export const importProposal = ({ inbox }: Memory, projectId: string, author: Author) =>
  Effect.fnUntraced(function* (text: ProposalText) {
    if (text.slug !== undefined && (yield* inbox.isNamed(projectId, text.slug))) return false
    // an import is for the agent that the file names, whoever imports
    const submitted = yield* inbox.submit(projectId, text, { ...author, run: null })
    return submitted._tag === "Added"
  })

/** `take` checks and collects them; `keep` stores those that are new, and gives their number. */
export const importEntries = ({ said }: Memory, projectId: string, author: Author) => {
  const occurrence = occurrences()
  const taken: Array<SaidEntry> = []
  const take = Effect.fnUntraced(function* (text: EntryText) {
    const at = new Date(`${text.day}T00:00:00Z`)
    if (Number.isNaN(at.getTime()) || !at.toISOString().startsWith(text.day)) {
      return yield* refuseInput([{ path: "day", message: `There is no day ${text.day}.` }])
    }
    const { importance, ...entry } = yield* Effect.fromResult(
      readAll({
        agentName: readAgentName(text.agentName, "agent"),
        type: readOneOf(memoryTypes, text.type, "type"),
        importance: readOneOf(importances, text.importance, "importance"),
        content: readText(text.content, "content", maxContent),
        tags: readTags(text.tags, "tags"),
      }),
    )
    const nth = occurrence(entry.agentName, entry.type, entry.content)
    taken.push({ ...entry, importance: rankOf(importance), createdAt: at.toISOString(), nth })
    return false
  })
  return { take, keep: Effect.suspend(() => said.insertMissing(projectId, taken, author)) }
}

/** A session that is open is not ended by a file. */
export const importNow = ({ sessions }: Memory, projectId: string) =>
  Effect.fnUntraced(function* (text: NowText) {
    if ((yield* sessions.current(projectId)) !== undefined) return false
    const session = yield* Effect.fromResult(
      readAll({
        focusArea: readText(text.focusArea, "focus_area", maxContent),
        activeIssues: readOptional(text.activeIssues, "active_issues", maxContent),
        summary: readOptional(text.summary, "summary", maxContent),
      }),
    )
    const at = new Date(text.updatedAt ?? "")
    const started = yield* sessions.begin(
      projectId,
      { ...session, sessionId: newId(), serializedState: null },
      false,
      Number.isNaN(at.getTime()) ? undefined : at.toISOString(),
    )
    return started !== undefined
  })
