/** A request in the shape that the packages of the providers take. */
import type { LanguageModelV4CallOptions, LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider"
import type { ModelMessage, ModelRequest } from "#core/wire/model.ts"
import { readOpaque } from "#runtime/model/provider/opaque.ts"
import type { ProviderType } from "#runtime/model/provider/provider.ts"

type AssistantContent = Extract<LanguageModelV4Message, { role: "assistant" }>["content"]

export interface Target {
  readonly type: ProviderType
  /** As the package names itself. */
  readonly packageName: string
  /** Tokens that the model may write where the request does not say. */
  readonly outputTokens: number
}

export const callOptions = (request: ModelRequest, target: Target): LanguageModelV4CallOptions => {
  // Anthropic wants a limit; to the others none means as much as the model can
  const maxOutputTokens = request.maxOutputTokens ?? (target.type === "anthropic" ? target.outputTokens : undefined)
  return {
    prompt: promptOf(request, target),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map(({ name, description, inputSchema }) => ({
            type: "function" as const,
            name,
            description,
            // whoever declares a tool gives a JSON Schema of an object
            inputSchema: inputSchema as { readonly type: "object" },
          })),
          toolChoice: { type: "auto" as const },
        }),
    // nothing is kept at the provider: what the next request needs comes back sealed
    providerOptions: { openai: { store: false }, azure: { store: false } },
  }
}

const promptOf = ({ system, messages }: ModelRequest, target: Target): LanguageModelV4Prompt => {
  const prompt: ReadonlyArray<LanguageModelV4Message> = [
    ...(system === "" ? [] : [{ role: "system" as const, content: system }]),
    ...messages.map((message) => messageOf(message, target.packageName)),
  ]
  if (target.type !== "anthropic") return [...prompt]
  // the rules and all that was said up to now are the beginning of the next request too
  return prompt.map((message, index) =>
    message.role === "system" || index === prompt.length - 1
      ? { ...message, providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } }
      : message,
  )
}

const messageOf = (message: ModelMessage, packageName: string): LanguageModelV4Message => {
  switch (message.role) {
    case "user":
      return { role: "user", content: [{ type: "text", text: message.text }] }
    case "assistant":
      return { role: "assistant", content: assistantContent(message, packageName) }
    case "tool":
      return {
        role: "tool",
        content: message.results.map(({ callId, toolName, text, isError }) => ({
          type: "tool-result" as const,
          toolCallId: callId,
          toolName,
          output: { type: isError ? ("error-text" as const) : ("text" as const), value: text },
        })),
      }
  }
}

const assistantContent = (
  { text, calls, opaque }: Extract<ModelMessage, { role: "assistant" }>,
  packageName: string,
): AssistantContent => {
  const own = readOpaque(opaque, packageName)
  return [
    ...(own?.reasoning ?? []).map(({ text: thought, metadata }) => ({
      type: "reasoning" as const,
      text: thought,
      providerOptions: metadata,
    })),
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...calls.map((call) => {
      const metadata = own?.calls[call.callId]
      return {
        type: "tool-call" as const,
        toolCallId: call.callId,
        toolName: call.toolName,
        input: inputOf(call.arguments),
        ...(metadata === undefined ? {} : { providerOptions: metadata }),
      }
    }),
  ]
}

/** What a model wrote that is no JSON object goes back as the value of one. */
const inputOf = (written: string): unknown => {
  try {
    const value: unknown = JSON.parse(written)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : { unreadable: written }
  } catch {
    return { unreadable: written }
  }
}
