/** The session as the messages that a model is sent. Pure. */
import type { ModelCall, ModelMessage } from "#core/wire/model.ts"
import { readArguments } from "#sandbox-agent/turn/arguments.ts"
import { cutMiddle } from "#sandbox-agent/turn/cut.ts"
import { cutOff } from "#sandbox-agent/turn/prompts.ts"
import type { Item, Said } from "#sandbox-agent/turn/session.ts"

/** Characters of the texts of tools that are sent: `recent` for the last answers, `old` for those before. */
export interface ResultLimits {
  readonly recent: number
  readonly old: number
}

export const unlimited: ResultLimits = { recent: Number.POSITIVE_INFINITY, old: Number.POSITIVE_INFINITY }

/** Answers whose results are recent. */
export const recentAnswers = 4

export const messagesOf = (
  items: ReadonlyArray<Item>,
  limits: ResultLimits = unlimited,
): ReadonlyArray<ModelMessage> => {
  const answers = items.filter(({ kind }) => kind === "said").length
  let answer = 0
  return items.flatMap((item): ReadonlyArray<ModelMessage> => {
    if (item.kind === "user") return [{ role: "user", text: item.text }]
    answer += 1
    return answered(item, answers - answer < recentAnswers ? limits.recent : limits.old)
  })
}

const answered = ({ text, calls, opaque }: Said, limit: number): ReadonlyArray<ModelMessage> => {
  // providers refuse an answer that says nothing
  if (text === "" && calls.length === 0) return []
  const own = calls.map(({ call }) => readable(call))
  const said: ModelMessage = { role: "assistant", text, calls: own, ...(opaque === undefined ? {} : { opaque }) }
  if (calls.length === 0) return [said]
  const results = calls.map(({ call, result }) => ({
    callId: call.callId,
    toolName: call.toolName,
    text: cutMiddle(result?.text ?? cutOff, limit),
    isError: result?.isError ?? true,
  }))
  return [said, { role: "tool", results }]
}

/** Providers want JSON back, also where the model wrote none. */
const readable = (call: ModelCall): ModelCall =>
  readArguments(call.arguments)._tag === "Read" && call.arguments.trim() !== ""
    ? call
    : {
        ...call,
        arguments: JSON.stringify(call.arguments.trim() === "" ? {} : { unreadable: call.arguments.slice(0, 2_000) }),
      }

export const charactersOf = (messages: ReadonlyArray<ModelMessage>): number =>
  messages.reduce((sum, message) => sum + charactersIn(message), 0)

const charactersIn = (message: ModelMessage): number => {
  switch (message.role) {
    case "user":
      return message.text.length
    case "assistant":
      return message.calls.reduce(
        (sum, call) => sum + call.toolName.length + call.arguments.length,
        message.text.length,
      )
    case "tool":
      return message.results.reduce((sum, { text }) => sum + text.length, 0)
  }
}
