/** Anthropic's streaming messages on a real HTTP server. `url` is what a base URL is set to. */
import { Effect, type Scope } from "effect"
import {
  jsonAnswer,
  type ModelCallReceived,
  type ModelServer,
  startModelServer,
  type WireAnswer,
} from "#test/fakes/model-server.ts"
import type { ChatReply, FailedReply } from "#test/fakes/openai-server.ts"

export interface AnthropicServer extends Pick<ModelServer, "requests"> {
  readonly url: string
}

export const startAnthropicServer = (
  answer: (request: ModelCallReceived, index: number) => ChatReply | FailedReply,
): Effect.Effect<AnthropicServer, never, Scope.Scope> =>
  Effect.map(
    startModelServer((request, index) => {
      const reply = answer(request, index)
      return "status" in reply ? jsonAnswer(reply.status, reply.body, reply.headers) : messagesWire(reply)
    }),
    ({ origin, requests }) => ({ url: `${origin}/v1`, requests }),
  )

/** `overloaded_error`, `not_found_error`…, as Anthropic names them. */
export const anthropicFails = (status: number, type: string, message = "Something about the prompt."): FailedReply => ({
  status,
  headers: { "request-id": "req_0123" },
  body: { type: "error", error: { type, message } },
})

const event = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`

const piecesOf = (text: string): ReadonlyArray<string> => text.match(/.{1,7}/gsu) ?? []

/** Server-sent events of `POST /messages`. Reasoning is a thinking block with a signature. */
export const messagesWire = (reply: ChatReply): WireAnswer => {
  const { text = "", reasoning, calls = [], model = "fake-model", ending, endsAfter } = reply
  const usage = reply.usage ?? { input: 12, output: 5 }
  const message = { id: "msg_1", type: "message", role: "assistant", model, content: [], stop_reason: null }
  const chunks = [
    event("message_start", { message: { ...message, usage: { input_tokens: usage.input, output_tokens: 1 } } }),
    event("ping", {}),
  ]
  let index = 0
  const block = (content: object, deltas: ReadonlyArray<object>): void => {
    chunks.push(
      event("content_block_start", { index, content_block: content }),
      ...deltas.map((delta) => event("content_block_delta", { index, delta })),
      event("content_block_stop", { index }),
    )
    index += 1
  }
  if (reasoning !== undefined) {
    const thoughts = piecesOf(reasoning).map((thinking) => ({ type: "thinking_delta", thinking }))
    block({ type: "thinking", thinking: "", signature: "" }, [
      ...thoughts,
      { type: "signature_delta", signature: "signed-0123" },
    ])
  }
  if (text !== "") {
    block(
      { type: "text", text: "" },
      piecesOf(text).map((piece) => ({ type: "text_delta", text: piece })),
    )
  }
  for (const { id, name, arguments: input } of calls) {
    const written = typeof input === "string" ? input : JSON.stringify(input)
    block(
      { type: "tool_use", id: id ?? `toolu_${index}`, name, input: {} },
      piecesOf(written).map((piece) => ({ type: "input_json_delta", partial_json: piece })),
    )
  }
  if (ending === "garbage") return { chunks: [...chunks, "event: message_delta\ndata: {this is not JSON\n\n"] }
  if (ending === "error") {
    return { chunks: [...chunks, event("error", { error: { type: "overloaded_error", message: "Overloaded" } })] }
  }
  if (ending !== undefined) return { chunks, ending, endsAfter }
  return {
    chunks: [
      ...chunks,
      event("message_delta", {
        delta: { stop_reason: reply.finishReason ?? (calls.length > 0 ? "tool_use" : "end_turn"), stop_sequence: null },
        usage: { output_tokens: usage.output },
      }),
      event("message_stop", {}),
    ],
  }
}
