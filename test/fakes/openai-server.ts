/**
 * OpenAI's two streaming interfaces on a real HTTP server: chat completions and responses. `url` is what a base
 * URL is set to.
 */
import { Effect, type Scope } from "effect"
import {
  jsonAnswer,
  type ModelCallReceived,
  type ModelServer,
  startModelServer,
  type WireAnswer,
} from "#test/fakes/model-server.ts"

export interface ChatReply {
  readonly text?: string
  /** Never shown to anybody, as some models send it. */
  readonly reasoning?: string
  /** `arguments` is the text that the model writes, or a value that is written as JSON. */
  readonly calls?: ReadonlyArray<{ readonly id?: string; readonly name: string; readonly arguments: unknown }>
  readonly finishReason?: string
  readonly usage?: { readonly input: number; readonly output: number } | null
  readonly model?: string
  /** What happens after the parts above, instead of an end. */
  readonly ending?: "cut" | "hang" | "garbage" | "error"
  /** See `WireAnswer`. */
  readonly endsAfter?: Promise<unknown>
}

/** A whole answer instead of a stream: `fails(429, "rate_limit_exceeded", { "retry-after": "1" })`. */
export interface FailedReply {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export type OpenAiReply = ChatReply | FailedReply | WireAnswer

export const fails = (status: number, code: string, headers: Readonly<Record<string, string>> = {}): FailedReply => ({
  status,
  headers,
  body: {
    error: { message: `Something with the words of the prompt and sk-leaked-0123456789abcdef`, type: "error", code },
  },
})

export interface OpenAiServer extends Pick<ModelServer, "requests"> {
  readonly url: string
}

export const startOpenAiServer = (
  answer: (request: ModelCallReceived, index: number) => OpenAiReply,
): Effect.Effect<OpenAiServer, never, Scope.Scope> =>
  Effect.map(
    startModelServer((request, index) => {
      const reply = answer(request, index)
      if ("chunks" in reply) return reply
      if ("status" in reply) return jsonAnswer(reply.status, reply.body, reply.headers)
      return request.path.includes("/responses") ? responsesWire(reply) : chatWire(reply, includesUsage(request))
    }),
    ({ origin, requests }) => ({ url: `${origin}/v1`, requests }),
  )

const includesUsage = ({ body }: ModelCallReceived): boolean => body?.stream_options?.include_usage === true

const defaultUsage = { input: 12, output: 5 }

const piecesOf = (text: string, size: number): ReadonlyArray<string> =>
  text.match(new RegExp(`.{1,${size}}`, "gsu")) ?? []

const written = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

/** Server-sent events of `POST /chat/completions`. */
export const chatWire = (reply: ChatReply, withUsage = true): WireAnswer => {
  const { text = "", reasoning = "", calls = [], usage = defaultUsage, model = "fake-model", ending, endsAfter } = reply
  const chunk = (delta: unknown, finishReason: string | null = null) =>
    data({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1_700_000_000,
      model,
      choices: [{ index: 0, delta, finish_reason: finishReason }],
    })
  const parts = [
    chunk({ role: "assistant", content: "" }),
    ...piecesOf(reasoning, 7).map((piece) => chunk({ reasoning_content: piece })),
    ...piecesOf(text, 7).map((piece) => chunk({ content: piece })),
    ...calls.flatMap(({ id, name, arguments: input }, index) => [
      chunk({
        tool_calls: [{ index, id: id ?? `call_${index}`, type: "function", function: { name, arguments: "" } }],
      }),
      ...piecesOf(written(input), 5).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ]
  if (ending === "garbage") return { chunks: [...parts, "data: {this is not JSON\n\n"] }
  if (ending === "error") {
    const error = { message: "The server is overloaded.", type: "server_error", code: "overloaded" }
    return { chunks: [...parts, data({ error })] }
  }
  if (ending !== undefined) return { chunks: parts, ending, endsAfter }
  const counted = usage !== null && withUsage
  return {
    chunks: [
      ...parts,
      chunk({}, reply.finishReason ?? (calls.length > 0 ? "tool_calls" : "stop")),
      ...(counted
        ? [
            data({
              id: "chatcmpl-1",
              object: "chat.completion.chunk",
              created: 1_700_000_000,
              model,
              choices: [],
              usage: {
                prompt_tokens: usage.input,
                completion_tokens: usage.output,
                total_tokens: usage.input + usage.output,
              },
            }),
          ]
        : []),
      "data: [DONE]\n\n",
    ],
  }
}

/** Server-sent events of `POST /responses`. Reasoning is an item with sealed content. */
export const responsesWire = (reply: ChatReply): WireAnswer => {
  const { text = "", reasoning, calls = [], usage = defaultUsage, model = "fake-model", ending, endsAfter } = reply
  let sequence = 0
  const event = (type: string, members: object) =>
    `event: ${type}\n${data({ type, sequence_number: sequence++, ...members })}`
  const response = (status: string, more: object = {}) => ({
    response: { id: "resp_1", object: "response", created_at: 1_700_000_000, model, status, output: [], ...more },
  })
  const chunks = [event("response.created", response("in_progress"))]
  let output = 0
  if (reasoning !== undefined) {
    const item = { id: "rs_1", type: "reasoning", summary: [] }
    chunks.push(
      event("response.output_item.added", { output_index: output, item: { ...item, encrypted_content: null } }),
      event("response.output_item.done", { output_index: output, item: { ...item, encrypted_content: reasoning } }),
    )
    output += 1
  }
  if (text !== "") {
    const item = { id: "msg_1", type: "message", role: "assistant", status: "in_progress", content: [] }
    const place = { output_index: output, item_id: "msg_1", content_index: 0 }
    chunks.push(
      event("response.output_item.added", { output_index: output, item }),
      ...piecesOf(text, 7).map((delta) => event("response.output_text.delta", { ...place, delta })),
      event("response.output_item.done", {
        output_index: output,
        item: { ...item, status: "completed", content: [{ type: "output_text", text, annotations: [] }] },
      }),
    )
    output += 1
  }
  for (const { id, name, arguments: input } of calls) {
    const item = { id: `fc_${output}`, type: "function_call", call_id: id ?? `call_${output}`, name }
    chunks.push(
      event("response.output_item.added", { output_index: output, item: { ...item, arguments: "" } }),
      ...piecesOf(written(input), 5).map((delta) =>
        event("response.function_call_arguments.delta", { output_index: output, item_id: item.id, delta }),
      ),
      event("response.output_item.done", {
        output_index: output,
        item: { ...item, arguments: written(input), status: "completed" },
      }),
    )
    output += 1
  }
  if (ending === "garbage") return { chunks: [...chunks, "data: {this is not JSON\n\n"] }
  if (ending === "error") {
    return { chunks: [...chunks, event("error", { code: "server_error", message: "It broke.", param: null })] }
  }
  if (ending !== undefined) return { chunks, ending, endsAfter }
  const counted = usage === null ? {} : { usage: { input_tokens: usage.input, output_tokens: usage.output } }
  return { chunks: [...chunks, event("response.completed", response("completed", counted))] }
}
