/** What the stored session of a run means: who said what, which calls are open, how far the turn is. Pure. */
import { Option, Schema } from "effect"
import type { ModelCall } from "#core/wire/model.ts"
import type { SessionEntry, TurnOutcome } from "#core/wire/turn.ts"
import { goOn } from "#sandbox-agent/turn/prompts.ts"
import { Outcome } from "#sandbox-agent/turn/tools/report-outcome.ts"

export interface CallState {
  readonly call: ModelCall
  /** It was started, and what came of it is not known. */
  readonly started: boolean
  readonly result: { readonly text: string; readonly isError: boolean } | undefined
}

export interface Said {
  readonly kind: "said"
  readonly text: string
  readonly calls: ReadonlyArray<CallState>
  readonly opaque: unknown
}

export type Item = { readonly kind: "user"; readonly text: string } | Said

/** What is left of the entries once compactions are applied: at most the first is a compaction. */
export const visibleEntries = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<SessionEntry> => {
  let visible: Array<SessionEntry> = []
  for (const entry of entries) {
    const kept = entry.kind === "compaction" ? visible.slice(visible.length - (entry.keeps ?? 0)) : visible
    visible = entry.kind === "compaction" ? [entry, ...kept] : visible
    if (entry.kind !== "compaction") visible.push(entry)
  }
  return visible
}

/** Each answer of the model with what became of its calls. */
export const itemsOf = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<Item> => {
  const items: Array<Item> = []
  for (const entry of entries) {
    const last = items.at(-1)
    switch (entry.kind) {
      case "compaction":
        items.push({ kind: "user", text: entry.summary })
        break
      case "message":
        items.push(...itemOfMessage(entry.message))
        break
      case "instruction":
        items.push({ kind: "user", text: entry.text })
        break
      case "call_started":
      case "call_waits":
      case "call_result":
        if (last?.kind === "said") items[items.length - 1] = { ...last, calls: last.calls.map(changedBy(entry)) }
        break
    }
  }
  return items
}

type CallEntry = Extract<SessionEntry, { kind: "call_started" | "call_waits" | "call_result" }>

const changedBy =
  (entry: CallEntry) =>
  (state: CallState): CallState => {
    const callId = entry.kind === "call_result" ? entry.call.callId : entry.callId
    if (state.call.callId !== callId) return state
    if (entry.kind !== "call_result") return { ...state, started: entry.kind === "call_started" }
    return { ...state, result: { text: entry.text, isError: entry.isError } }
  }

const itemOfMessage = (message: Extract<SessionEntry, { kind: "message" }>["message"]): ReadonlyArray<Item> => {
  switch (message.role) {
    case "user":
      return [{ kind: "user", text: message.text }]
    case "assistant": {
      const calls = message.calls.map((call) => ({ call, started: false, result: undefined }))
      return [{ kind: "said", text: message.text, calls, opaque: message.opaque }]
    }
    case "tool":
      // results are entries of their own
      return []
  }
}

/** Calls of the last answer that have no result. */
export const openCalls = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<CallState> => {
  const last = itemsOf(entries).findLast((item) => item.kind === "said")
  return last === undefined ? [] : last.calls.filter(({ result }) => result === undefined)
}

/** Answers of the model in the whole session. */
export const exchanges = (entries: ReadonlyArray<SessionEntry>): number => entries.filter(isAnswer).length

export const compactions = (entries: ReadonlyArray<SessionEntry>): number =>
  entries.filter(({ kind }) => kind === "compaction").length

const isAnswer = (entry: SessionEntry): boolean => entry.kind === "message" && entry.message.role === "assistant"

const taskOf = (entry: SessionEntry): string | undefined =>
  entry.kind === "message" && entry.message.role === "user" && entry.message.text !== goOn
    ? entry.message.text
    : undefined

/** The first task of the run, and the one that the agent is at. */
export const tasksOf = (entries: ReadonlyArray<SessionEntry>): { readonly first: string; readonly last: string } => {
  const tasks = entries.flatMap((entry) => taskOf(entry) ?? [])
  return { first: tasks[0] ?? "", last: tasks.at(-1) ?? "" }
}

/** The entries since the agent was told what it is at, without that message. */
export const sinceTask = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<SessionEntry> =>
  entries.slice(entries.findLastIndex((entry) => taskOf(entry) !== undefined) + 1)

/** The agent was told this, and nothing else since. */
export const wasTold = (entries: ReadonlyArray<SessionEntry>, task: string): boolean =>
  entries.length > 0 && tasksOf(entries).last === task

/** What the agent said last, where it calls nothing more and was told nothing since; undefined while it is at work. */
export const lastWord = (entries: ReadonlyArray<SessionEntry>): string | undefined => {
  const last = itemsOf(sinceTask(entries)).at(-1)
  return last?.kind === "said" && last.calls.length === 0 ? last.text : undefined
}

/** What the agent last reported of the task that it is at. */
export const reportedOutcome = (
  entries: ReadonlyArray<SessionEntry>,
): Extract<TurnOutcome, { _tag: "Finished" }>["outcome"] => {
  const report = sinceTask(entries).findLast(
    (entry) => entry.kind === "call_result" && entry.call.toolName === "report_outcome" && !entry.isError,
  )
  return report?.kind === "call_result" ? Option.getOrNull(decodeOutcome(report.call.arguments)) : null
}

const decodeOutcome = Schema.decodeUnknownOption(Schema.fromJsonString(Outcome))

/** Failures of exactly this call, one after the other, up to now. */
export const failuresInARow = (
  entries: ReadonlyArray<SessionEntry>,
  { toolName, arguments: given }: ModelCall,
): number => {
  const results = entries.filter((entry) => entry.kind === "call_result")
  const other = results.findLastIndex(
    ({ call, isError }) => !isError || call.toolName !== toolName || call.arguments !== given,
  )
  return results.length - 1 - other
}
