/**
 * How a call of an agent stands with what people decided, as pure functions: it may go on, it may not, it waits, or
 * nobody was asked yet. `events` is what has to be appended with that answer.
 */
import type { NewEvent } from "#core/event.ts"
import { isPast } from "#core/run/control/decide.ts"
import { bareHash, type ControlState, type Question } from "#core/run/control/state.ts"
import { type ControlView, type ToolUse, verdict } from "#core/run/control/verdict.ts"
import { QuestionAnswered, ShellApprovalUsed, ToolApprovalResolved } from "#core/run/events/control.ts"

export type Standing =
  | {
      readonly _tag: "Allowed"
      /** By a decision for more than this one call; null for a decision about just this. */
      readonly source: "allow_policy" | "auto_approve" | null
      readonly events: ReadonlyArray<NewEvent>
    }
  | { readonly _tag: "Refused"; readonly why: "denied" | "expired"; readonly events: ReadonlyArray<NewEvent> }
  | { readonly _tag: "Waits"; readonly requestId: string; readonly events: ReadonlyArray<NewEvent> }
  | { readonly _tag: "Ask" }

const denied: Standing = { _tag: "Refused", why: "denied", events: [] }
const expired = (...events: ReadonlyArray<NewEvent>): Standing => ({ _tag: "Refused", why: "expired", events })
const waits = (requestId: string): Standing => ({ _tag: "Waits", requestId, events: [] })

const resolved = (requestId: string, toolName: string, state: "approved" | "expired"): NewEvent =>
  ToolApprovalResolved.of({ request_id: requestId, tool_name: toolName, state, applied: true })

export const toolExpiry = (requestId: string, toolName: string): NewEvent => resolved(requestId, toolName, "expired")
export const questionExpiry = (requestId: string): NewEvent =>
  QuestionAnswered.of({ requestId, answer: null, timedOut: true })

export const toolStanding = (view: ControlView, use: ToolUse, callId: string, now: number): Standing => {
  const { toolName, subject } = use
  const said = verdict(view, use)
  if (said._tag === "Denied") return denied
  const request = [...view.lineage[0].tools.values()].findLast(
    (known) => known.callId === callId && known.toolName === toolName && known.subject === subject,
  )
  if (request === undefined) return said._tag === "Allowed" ? { ...said, events: [] } : said
  const { requestId } = request
  switch (request.state) {
    case "approved":
      return { _tag: "Allowed", source: null, events: [] }
    case "denied":
      return denied
    case "expired":
      return expired()
    case "pending":
      // somebody allowed more than this call while it waited
      if (said._tag === "Allowed") return { ...said, events: [resolved(requestId, toolName, "approved")] }
      return isPast(request.expiresAt, now) ? expired(toolExpiry(requestId, toolName)) : waits(requestId)
  }
}

/** The name under which a shell command waits. */
export const shellTool = "run_command"

/** An approval is used up with the answer; a refusal stands for the rest of the run, and for the runs below it. */
export const shellStanding = (view: ControlView, commandHash: string, callId: string, now: number): Standing => {
  const hash = bareHash(commandHash)
  if (view.lineage.some((state) => state.shell.get(hash)?.state === "denied")) return denied
  const request = view.lineage[0].shell.get(hash)
  switch (request?.state) {
    case "approved":
      return {
        _tag: "Allowed",
        source: null,
        events: [ShellApprovalUsed.of({ command_hash: `sha256:${hash}`, callId })],
      }
    case "pending":
      return isPast(request.expiresAt, now)
        ? expired(toolExpiry(request.requestId, shellTool))
        : waits(request.requestId)
    case "expired":
      return request.callId === callId ? expired() : { _tag: "Ask" }
    case "denied":
      return denied
    case "used":
    case undefined:
      return { _tag: "Ask" }
  }
}

export const questionOf = (state: ControlState, callId: string): Question | undefined =>
  [...state.questions.values()].find((question) => question.callId === callId)
