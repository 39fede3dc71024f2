/** The system prompt of a turn, and how large its parts are. The sizes are told, the prompt never is. */
import type { TurnEvent } from "#core/wire/turn.ts"
import type { Turn } from "#sandbox-agent/turn/context.ts"

const separator = "\n\n"

const parts = ({ request }: Turn): ReadonlyArray<string> =>
  [request.systemPrompt, request.runContext, request.skillContext].filter((part) => part !== "")

export const systemOf = (turn: Turn): string => parts(turn).join(separator)

/** `agent.system_prompt` and `agent.runtime_context`, for one exchange with the model. */
export const contextEvents = (turn: Turn): ReadonlyArray<TurnEvent> => {
  const { request } = turn
  const sizes = {
    baseCharacters: request.systemPrompt.length,
    runContextCharacters: request.runContext.length,
    skillCharacters: request.skillContext.length,
    separatorCharacters: Math.max(0, parts(turn).length - 1) * separator.length,
    taskCharacters: request.task.length,
    toolDeclarationCharacters: JSON.stringify(turn.tools.offered).length,
  }
  const totalCharacters = Object.values(sizes).reduce((sum, size) => sum + size, 0)
  const payload = {
    provider: request.source,
    runId: request.runId,
    projectId: request.projectId,
    ...sizes,
    skillDeliveryMode: request.skillDeliveryMode,
    totalCharacters,
    estimatedTokens: Math.ceil(totalCharacters / 4),
  }
  return [
    {
      type: "agent.system_prompt",
      payload: { ...payload, callableMemoryGuidanceIncluded: request.callableMemoryGuidanceIncluded },
    },
    { type: "agent.runtime_context", payload },
  ]
}
