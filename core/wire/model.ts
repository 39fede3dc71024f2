/**
 * One exchange with a language model, as data: what is sent, and the parts of the answer as they arrive.
 * Neutral of providers, and plain JSON, so that it can be recorded, replayed and sent to another process.
 */
import { Schema } from "effect"

/** A call that the model asks for. `arguments` is the text that the model wrote: JSON, if it did well. */
export const ModelCall = Schema.Struct({
  callId: Schema.String,
  toolName: Schema.String,
  arguments: Schema.String,
})
export type ModelCall = typeof ModelCall.Type

export const ModelMessage = Schema.Union([
  Schema.Struct({ role: Schema.Literal("user"), text: Schema.String }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    text: Schema.String,
    calls: Schema.Array(ModelCall),
    /** What the provider wants back with the next request (signatures of its reasoning); nobody else reads it. */
    opaque: Schema.optionalKey(Schema.Unknown),
  }),
  Schema.Struct({
    role: Schema.Literal("tool"),
    results: Schema.Array(
      Schema.Struct({
        callId: Schema.String,
        toolName: Schema.String,
        text: Schema.String,
        isError: Schema.Boolean,
      }),
    ),
  }),
])
export type ModelMessage = typeof ModelMessage.Type

/** A tool as the model sees it; `inputSchema` is a JSON Schema of an object. */
export const ModelTool = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  inputSchema: Schema.Unknown,
})
export type ModelTool = typeof ModelTool.Type

/** Who asks, and for what: for logs, tapes and scripts. Never sent to a provider. */
export const ModelLabels = Schema.Struct({
  runId: Schema.String,
  projectId: Schema.NullOr(Schema.String),
  agentName: Schema.NullOr(Schema.String),
  /** `turn`, `compaction`, `rai`, `rubberduck`, `outcome_spec`, `decompose`, `scribe`… */
  purpose: Schema.String,
  /** Counts the exchanges of this purpose in this run, from 0. */
  step: Schema.Int,
})
export type ModelLabels = typeof ModelLabels.Type

export const ModelRequest = Schema.Struct({
  /** `hosted`, `byok` (or the id of a BYOK provider), `scripted`, `tape`. */
  source: Schema.String,
  /** Null: the provider's own default. */
  modelId: Schema.NullOr(Schema.String),
  system: Schema.String,
  messages: Schema.Array(ModelMessage),
  tools: Schema.Array(ModelTool),
  maxOutputTokens: Schema.optionalKey(Schema.Int),
  labels: ModelLabels,
})
export type ModelRequest = typeof ModelRequest.Type

export const ModelUsage = Schema.Struct({
  inputTokens: Schema.Int,
  outputTokens: Schema.Int,
  totalTokens: Schema.Int,
  /** Billionths of an AI unit, where the provider says what it cost; 0 where it does not. */
  totalNanoAiu: Schema.Int,
})
export type ModelUsage = typeof ModelUsage.Type

/** `finish` is the last part, and there is always one where the stream does not fail. */
export const ModelPart = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("text"), delta: Schema.String }),
  /** A whole call: fragments of its arguments were joined. */
  Schema.Struct({ kind: Schema.Literal("call"), call: ModelCall }),
  Schema.Struct({
    kind: Schema.Literal("finish"),
    reason: Schema.Literals(["stop", "tool_calls", "length", "content_filter", "other"]),
    usage: ModelUsage,
    /** The model that answered, as the provider names it. */
    modelId: Schema.NullOr(Schema.String),
    timeToFirstTokenMs: Schema.NullOr(Schema.Finite),
    opaque: Schema.optionalKey(Schema.Unknown),
  }),
])
export type ModelPart = typeof ModelPart.Type

/**
 * - `Authorization`: the provider refused the credential. - `RateLimited`: too many requests, or no quota left.
 * - `Configuration`: no provider, no model, no key: whoever runs the service has to act.
 * - `ProviderUnavailable`: unreachable, 5xx, broken stream. - `UnavailableModel`: the provider does not have it.
 * - `Refused`: the provider's own content filter. - `TooLong`: more than the model can read.
 * - `Diverged`: a tape does not have this request.
 */
export const modelFailureKinds = [
  "Authorization",
  "RateLimited",
  "Configuration",
  "ProviderUnavailable",
  "UnavailableModel",
  "Refused",
  "TooLong",
  "Diverged",
] as const

/** The message never holds a key, a header or a prompt. Retries with backoff have been made before it is seen. */
export class ModelFailed extends Schema.TaggedError<ModelFailed>()("ModelFailed", {
  kind: Schema.Literals(modelFailureKinds),
  message: Schema.String,
  retryable: Schema.Boolean,
}) {}

/** Tokens that a model reads and writes at most. */
export interface ModelLimits {
  readonly contextTokens: number
  readonly outputTokens: number
}
