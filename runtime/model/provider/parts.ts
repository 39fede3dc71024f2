/** The parts of a package's stream as our parts: a fold over one answer. Pure. */
import type { LanguageModelV4StreamPart, LanguageModelV4Usage, SharedV4ProviderMetadata } from "@ai-sdk/provider"
import type { ModelPart, ModelUsage } from "#core/wire/model.ts"
import { isEmpty, type OpaqueState } from "#runtime/model/provider/opaque.ts"

export interface Answer {
  readonly modelId: string | null
  readonly hasCalls: boolean
  readonly timeToFirstTokenMs: number | null
  /** Reasoning by the id of its block, in order. */
  readonly reasoning: ReadonlyMap<string, { readonly text: string; readonly metadata: SharedV4ProviderMetadata }>
  readonly calls: Readonly<Record<string, SharedV4ProviderMetadata>>
}

export const emptyAnswer: Answer = {
  modelId: null,
  hasCalls: false,
  timeToFirstTokenMs: null,
  reasoning: new Map(),
  calls: {},
}

export type Step =
  | { readonly _tag: "Parts"; readonly answer: Answer; readonly parts: ReadonlyArray<ModelPart> }
  /** What the provider says is wrong. */
  | { readonly _tag: "Failed"; readonly error: unknown }
  /** The answer ended, and not well. */
  | { readonly _tag: "Broken" }

/** `elapsed` is the time since the request was sent, in milliseconds. */
export const step = (answer: Answer, part: LanguageModelV4StreamPart, elapsed: number, packageName: string): Step => {
  const first = { ...answer, timeToFirstTokenMs: answer.timeToFirstTokenMs ?? elapsed }
  switch (part.type) {
    case "response-metadata":
      return parts({ ...answer, modelId: part.modelId ?? answer.modelId })
    case "text-delta":
      // nothing that texts are kept in takes a NUL
      return parts(first, part.delta === "" ? [] : [{ kind: "text", delta: part.delta.replaceAll("\0", "\ufffd") }])
    case "reasoning-start":
    case "reasoning-delta":
    case "reasoning-end":
      return parts(withReasoning(first, part))
    case "tool-input-start":
    case "tool-input-delta":
      return parts(first)
    case "tool-call": {
      const { toolCallId: callId, toolName, input, providerMetadata } = part
      const calls = providerMetadata === undefined ? first.calls : { ...first.calls, [callId]: providerMetadata }
      return parts({ ...first, hasCalls: true, calls }, [
        { kind: "call", call: { callId, toolName, arguments: input } },
      ])
    }
    case "error":
      return { _tag: "Failed", error: part.error }
    case "finish":
      return finished(answer, part, packageName)
    // beginnings, ends and pings; and what only tools bring that a provider runs itself
    case "stream-start":
    case "text-start":
    case "text-end":
    case "tool-input-end":
    case "tool-result":
    case "tool-approval-request":
    case "custom":
    case "file":
    case "reasoning-file":
    case "source":
    case "ping":
    case "raw":
      return parts(answer)
  }
}

const parts = (answer: Answer, found: ReadonlyArray<ModelPart> = []): Step => ({ _tag: "Parts", answer, parts: found })

const withReasoning = (
  answer: Answer,
  part: Extract<LanguageModelV4StreamPart, { type: "reasoning-start" | "reasoning-delta" | "reasoning-end" }>,
): Answer => {
  const known = answer.reasoning.get(part.id) ?? { text: "", metadata: {} }
  const next = {
    text: part.type === "reasoning-delta" ? known.text + part.delta : known.text,
    metadata: merged(known.metadata, part.providerMetadata ?? {}),
  }
  return { ...answer, reasoning: new Map(answer.reasoning).set(part.id, next) }
}

const merged = (one: SharedV4ProviderMetadata, other: SharedV4ProviderMetadata): SharedV4ProviderMetadata => ({
  ...one,
  ...Object.fromEntries(Object.entries(other).map(([name, values]) => [name, { ...one[name], ...values }])),
})

const finished = (
  answer: Answer,
  { finishReason, usage }: Extract<LanguageModelV4StreamPart, { type: "finish" }>,
  packageName: string,
): Step => {
  const reason = reasonOf(finishReason.unified, answer.hasCalls)
  if (reason === undefined) return { _tag: "Broken" }
  const opaque: OpaqueState = {
    provider: packageName,
    // reasoning without a signature is not asked for again
    reasoning: [...answer.reasoning.values()].filter(({ metadata }) => Object.keys(metadata).length > 0),
    calls: answer.calls,
  }
  return parts(answer, [
    {
      kind: "finish",
      reason,
      usage: usageOf(usage),
      modelId: answer.modelId,
      timeToFirstTokenMs: answer.timeToFirstTokenMs,
      ...(isEmpty(opaque) ? {} : { opaque }),
    },
  ])
}

type FinishReason = Extract<ModelPart, { kind: "finish" }>["reason"]
type UnifiedReason = Extract<LanguageModelV4StreamPart, { type: "finish" }>["finishReason"]["unified"]

/** Some servers say `stop` where they mean that the calls should be made. */
const reasonOf = (unified: UnifiedReason, hasCalls: boolean): FinishReason | undefined => {
  switch (unified) {
    case "stop":
      return hasCalls ? "tool_calls" : "stop"
    case "tool-calls":
      return hasCalls ? "tool_calls" : "stop"
    case "length":
      return "length"
    case "content-filter":
      return "content_filter"
    case "other":
      return hasCalls ? "tool_calls" : "other"
    case "error":
    case "interrupted":
      return undefined
  }
}

const count = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.round(value) : 0

export const usageOf = ({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): ModelUsage => {
  const input = count(inputTokens.total)
  const output = count(outputTokens.total)
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    totalNanoAiu: count(raw?.total_nano_aiu),
  }
}
