/**
 * The section `memory` of a turn's context. It fails closed: where the memory cannot be read, or where the decisions
 * that bind everybody do not fit, no model is asked. What went in, and what did not, is in the run's log.
 */
import { Effect } from "effect"
import { EventLog } from "#core/event-log.ts"
import { HookFault, handler } from "#core/hook.ts"
import { MemoryContextComposition } from "#core/run/events/turn.ts"
import { Settings } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { makeCandidates } from "#plugins/memory/context/candidates.ts"
import { sectionText, sectionTitle } from "#plugins/memory/context/envelope.ts"
import { select } from "#plugins/memory/context/select.ts"
import { agentContext } from "#policies/agent-context/question.ts"

const sectionId = "memory"

const unavailable = (message: string) => new HookFault({ reason: "unavailable", message })

export const memoryContext = Effect.gen(function* () {
  const sql = yield* Sql
  const log = yield* EventLog
  const { MaxItems: maxItems, MaxTokens: maxTokens } = (yield* Settings).MemoryContext
  const budget = { maxItems, maxTokens }
  const candidatesOf = makeCandidates(sql)

  return handler(
    agentContext,
    Effect.fnUntraced(function* ({ runId, projectId, agentName, sections }) {
      if (projectId === null) return undefined
      const reader = { runId, projectId, agentName }
      const candidates = yield* Effect.mapError(candidatesOf(reader, budget), ({ message }) => unavailable(message))
      const { decisions, memoryCount, session } = candidates
      if (decisions.length === 0 && memoryCount === 0 && session === null) return undefined
      const selection = select(candidates, budget)
      if (selection._tag === "OverBudget") {
        return yield* unavailable(
          `The approved architectural and scope decisions of the project need at least ${selection.tokens} tokens, and ` +
            `MemoryContext:MaxTokens is ${maxTokens}. Archive or shorten decisions, or raise the limit.`,
        )
      }
      const { envelope, omittedMemoryCount, omittedSessionCount, omissionCauses } = selection
      const composed = MemoryContextComposition.of({
        included: {
          decisions: envelope.decisions.map(({ id }) => id),
          memories: envelope.memories.map(({ id }) => id),
          session: envelope.session?.id ?? null,
        },
        omittedMemoryCount,
        omittedSessionCount,
        omissionCauses,
      })
      yield* Effect.mapError(log.append(runId, [composed]), ({ message }) => unavailable(message))
      const others = sections.filter(({ id }) => id !== sectionId)
      return { sections: [...others, { id: sectionId, title: sectionTitle, text: sectionText(envelope) }] }
    }),
    { failure: "closed" },
  )
})
