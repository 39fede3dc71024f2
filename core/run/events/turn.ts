/** Events of one turn of an agent: what it was given, what it says, which tools it calls. */
import { Schema } from "effect"
import { defineEvent } from "#core/event.ts"

const optional = Schema.optionalKey

export const TurnStarted = defineEvent("agent.turn.start", Schema.Struct({ turnId: Schema.String }))
export const TurnEnded = defineEvent("agent.turn.end", Schema.Struct({ turnId: Schema.String }))

export const TurnUsage = defineEvent(
  "agent.turn.usage",
  Schema.Struct({
    inputTokens: Schema.Int,
    outputTokens: Schema.Int,
    totalTokens: Schema.Int,
    totalNanoAiu: Schema.Int,
    modelId: Schema.NullOr(Schema.String),
  }),
)

export const AgentMessageDelta = defineEvent(
  "agent.message.delta",
  Schema.Struct({ delta: Schema.String, messageId: Schema.String }),
)

export const AgentMessage = defineEvent(
  "agent.message",
  Schema.Struct({ messageId: Schema.String, content: Schema.String }),
)

export const AgentIntent = defineEvent("agent.intent", Schema.Struct({ intent: Schema.String }))
export const AgentTask = defineEvent("agent.task", Schema.Struct({ task: Schema.String }))
export const AgentTools = defineEvent("agent.tools", Schema.Struct({ tools: Schema.Array(Schema.String) }))

/** Sizes in characters. `totalCharacters` is the sum of the parts, `estimatedTokens` a quarter of it, rounded up. */
const runtimeContext = {
  provider: Schema.String,
  runId: Schema.String,
  projectId: Schema.NullOr(Schema.String),
  baseCharacters: Schema.Int,
  runContextCharacters: Schema.Int,
  skillCharacters: Schema.Int,
  separatorCharacters: Schema.Int,
  taskCharacters: Schema.Int,
  toolDeclarationCharacters: Schema.Int,
  skillDeliveryMode: Schema.Literals(["none", "file", "inline", "mixed"]),
  totalCharacters: Schema.Int,
  estimatedTokens: Schema.Int,
}

export const AgentRuntimeContext = defineEvent("agent.runtime_context", Schema.Struct(runtimeContext))

/** Sizes only: the prompt itself is never an event. */
export const AgentSystemPrompt = defineEvent(
  "agent.system_prompt",
  Schema.Struct({ ...runtimeContext, callableMemoryGuidanceIncluded: Schema.Boolean }),
)

export const MemoryContextComposition = defineEvent(
  "memory.context_composition",
  Schema.Struct({
    included: Schema.Unknown,
    omittedMemoryCount: Schema.Int,
    omittedSessionCount: Schema.Int,
    omissionCauses: Schema.Array(Schema.String),
  }),
)

export const ToolCall = defineEvent(
  "tool.call",
  Schema.Struct({ callId: Schema.String, toolName: Schema.String, arguments: Schema.Unknown }),
)

export const ToolResult = defineEvent("tool.result", Schema.Struct({ callId: Schema.String, content: Schema.String }))

export const ToolError = defineEvent(
  "tool.error",
  Schema.Struct({ callId: Schema.String, errorMessage: Schema.String }),
)

export const ToolOutput = defineEvent(
  "tool.output",
  Schema.Struct({
    stream: Schema.Literals(["stdout", "stderr"]),
    data: Schema.String,
    callId: optional(Schema.String),
  }),
)

/** `exit_code` is -1 where the command was denied or ran out of time. */
export const ToolExecResult = defineEvent(
  "tool.exec_result",
  Schema.Struct({ exit_code: Schema.Int, timed_out: Schema.Boolean, output_truncated: Schema.Boolean }),
)

/** A long command is still running. */
export const ToolExecutionPending = defineEvent(
  "tool.execution_pending",
  Schema.Struct({
    runId: Schema.String,
    toolCallId: Schema.String,
    toolName: Schema.String,
    startedAtUtc: Schema.String,
    deadlineUtc: Schema.String,
    elapsedSeconds: Schema.Finite,
  }),
)
