/** What a run waits for people with, and what of it is over, as pure functions of its control. */
import type { NewEvent } from "#core/event.ts"
import { isPast } from "#core/run/control/decide.ts"
import { questionExpiry, shellTool, toolExpiry } from "#core/run/control/standing.ts"
import type { ControlState } from "#core/run/control/state.ts"

export interface OpenRequest {
  readonly requestId: string
  /** The tool that waits for an approval; null for a question. */
  readonly toolName: string | null
  /** ISO 8601; null: it waits as long as the run. */
  readonly expiresAt: string | null
  /** Appended when nobody decided in time. */
  readonly expiry: NewEvent
}

export const openRequests = (state: ControlState): ReadonlyArray<OpenRequest> => {
  const tools = [...state.tools.values()].filter((request) => request.state === "pending")
  const shell = [...state.shell.values()].filter((request) => request.state === "pending")
  const questions = [...state.questions.values()].filter((question) => question.state === "pending")
  return [
    ...tools.map(({ requestId, toolName, expiresAt }) => ({
      requestId,
      toolName,
      expiresAt,
      expiry: toolExpiry(requestId, toolName),
    })),
    ...shell.map(({ requestId, expiresAt }) => ({
      requestId,
      toolName: shellTool,
      expiresAt,
      expiry: toolExpiry(requestId, shellTool),
    })),
    ...questions.map(({ requestId, expiresAt }) => ({
      requestId,
      toolName: null,
      expiresAt,
      expiry: questionExpiry(requestId),
    })),
  ]
}

export const overdue = (requests: ReadonlyArray<OpenRequest>, now: number): ReadonlyArray<OpenRequest> =>
  requests.filter((request) => isPast(request.expiresAt, now))
