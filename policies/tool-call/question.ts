/**
 * `tool.call`: may this agent call this tool? Asked before every call, wherever the turn runs. Nothing is
 * refused without a plugin.
 */
import { Schema } from "effect"
import { guardQuestion } from "#core/hook.ts"
import { runId, text } from "#policies/fields.ts"

export const ToolCallAsk = Schema.Struct({
  runId: runId.annotate({ description: "The run by whose rights the call is judged: the caller, or a run above it." }),
  calledBy: text.annotate({ description: "The run that makes the call." }),
  agentName: text.annotate({ description: "The agent of `runId`." }),
  callId: text,
  toolName: text,
  arguments: Schema.Unknown.annotate({ description: "As the model wrote them, a JSON value." }),
})
export type ToolCallAsk = typeof ToolCallAsk.Type

export const toolCall = guardQuestion({
  name: "tool.call",
  summary: "An agent is about to call a tool.",
  ask: ToolCallAsk,
})
