/**
 * Keeps what is sent within what the model can read: first old results of tools are cut, then the older part of the
 * session gives way to a summary by the model. What was asked stays word for word. docs/turns.md has the rules.
 */
import { Effect } from "effect"
import type { ModelMessage } from "#core/wire/model.ts"
import type { SessionEntry } from "#core/wire/turn.ts"
import type { Turn } from "#sandbox-agent/turn/context.ts"
import { cutMiddle } from "#sandbox-agent/turn/cut.ts"
import { charactersOf, messagesOf, recentAnswers, unlimited } from "#sandbox-agent/turn/messages.ts"
import { compacted, compactionSystem, compactionTask, recordLine, withoutSummary } from "#sandbox-agent/turn/prompts.ts"
import { compactions, type Item, itemsOf, tasksOf, visibleEntries } from "#sandbox-agent/turn/session.ts"
import { systemOf } from "#sandbox-agent/turn/sizes.ts"
import { listen, refusedByFilter, usageEvent } from "#sandbox-agent/turn/stream.ts"

/** Of what the model can read besides its answer. */
const filled = 0.8
/** Of the same, for what stays as it is when the rest is summarised. */
const keptShare = 0.3
/** Characters that are left of an old result. */
const oldResult = 1_500
/** Of the same, for the record itself, where the model has nothing to say about it. */
const recordShare = 0.2
/** Characters of a result in the record that is summarised. */
const recordedResult = 3_000
/** Characters that are always sent of each result, however many there are. */
const leastResult = 500

/** Characters that messages may have. */
export const room = (turn: Turn): number => {
  const { source, modelId } = turn.request
  const { contextTokens, outputTokens } = turn.world.limits(source, modelId)
  const reserve = Math.min(outputTokens, contextTokens / 2)
  const fixed = systemOf(turn).length + JSON.stringify(turn.tools.offered).length
  return Math.max(leastResult, ((contextTokens - reserve) * filled) / turn.density.tokensPerCharacter - fixed)
}

/** The messages to send now. Summarises where it has to, or where `must` says that the model found them too long. */
export const fittingMessages = Effect.fnUntraced(function* (turn: Turn, must: boolean) {
  const now = () => itemsOf(visibleEntries(turn.entries()))
  const all = messagesOf(now())
  const most = must ? Math.min(room(turn), charactersOf(all)) / 2 : room(turn)
  if (!must) {
    if (charactersOf(all) <= most) return all
    const shorter = messagesOf(now(), { ...unlimited, old: oldResult })
    if (charactersOf(shorter) <= most) return shorter
  }
  yield* summarise(turn, most)
  return squeezed(now(), most)
})

/** The last means: every result gets the same, less and less of it. */
const squeezed = (items: ReadonlyArray<Item>, most: number): ReadonlyArray<ModelMessage> => {
  const first = messagesOf(items, { ...unlimited, old: oldResult })
  let messages = first
  for (let recent = most / 2; charactersOf(messages) > most && recent >= leastResult; recent /= 2) {
    messages = messagesOf(items, { recent: Math.floor(recent), old: Math.min(oldResult, Math.floor(recent)) })
  }
  return messages
}

const summarise = Effect.fnUntraced(function* (turn: Turn, most: number) {
  const entries = visibleEntries(turn.entries())
  const from = keptFrom(entries, most * keptShare)
  const gone = itemsOf(entries.slice(0, from))
  if (!gone.some(({ kind }) => kind === "said")) return
  const { request, world } = turn
  const record = cutMiddle(gone.flatMap(recorded).map(recordLine).join("\n"), Math.floor(most))
  const answer = yield* listen(
    { ...world, emit: () => Effect.void },
    {
      source: request.source,
      modelId: request.modelId,
      system: compactionSystem,
      messages: [{ role: "user", text: compactionTask(record) }],
      tools: [],
      labels: {
        runId: request.runId,
        projectId: request.projectId,
        agentName: request.agentName,
        purpose: "compaction",
        step: compactions(turn.entries()),
      },
    },
    "",
  )
  if (answer.finish.reason === "content_filter") return yield* refusedByFilter()
  const { first, last } = tasksOf(turn.entries())
  const said =
    answer.text.trim() === "" ? withoutSummary(cutMiddle(record, Math.floor(most * recordShare))) : answer.text
  const summary = compacted(first, last, said)
  yield* turn.tell([usageEvent(answer.finish)], [{ kind: "compaction", summary, keeps: entries.length - from }])
})

/** Where the last answers begin that fit, at least one and at most the recent ones, with all that belongs to them. */
const keptFrom = (entries: ReadonlyArray<SessionEntry>, most: number): number => {
  const starts = entries.flatMap((entry, at) =>
    entry.kind === "message" && entry.message.role === "assistant" ? [at] : [],
  )
  const candidates = starts.slice(-recentAnswers)
  const fits = (at: number): boolean => charactersOf(messagesOf(itemsOf(entries.slice(at)))) <= most
  return candidates.find(fits) ?? candidates.at(-1) ?? entries.length
}

const recorded = (item: Item): ReadonlyArray<unknown> =>
  item.kind === "user"
    ? [{ from: "user", text: item.text }]
    : [
        { from: "agent", text: item.text },
        ...item.calls.map(({ call, result }) => ({
          tool: call.toolName,
          arguments: cutMiddle(call.arguments, recordedResult),
          ...(result?.isError === true ? { failed: true } : {}),
          result: cutMiddle(result?.text ?? "", recordedResult),
        })),
      ]
