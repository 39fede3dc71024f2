/** The providers' wire formats over real HTTP: what is sent, and what comes of every kind of answer. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted, Stream } from "effect"
import type { ModelPart, ModelRequest } from "#core/wire/model.ts"
import { makeAsk } from "#runtime/model/provider/ask.ts"
import type { Provider } from "#runtime/model/provider/provider.ts"
import { anthropicFails, startAnthropicServer } from "#test/fakes/anthropic-server.ts"
import type { ModelCallReceived } from "#test/fakes/model-server.ts"
import { type ChatReply, type FailedReply, fails, startOpenAiServer } from "#test/fakes/openai-server.ts"

const key = "key-of-the-provider-0123"

const providerAt = (baseUrl: string, more: Partial<Provider> = {}): Provider => ({
  type: "openai",
  wireApi: "completions",
  baseUrl,
  apiKey: Redacted.make(key),
  headers: { "x-team": Redacted.make("red") },
  azureApiVersion: null,
  model: null,
  ...more,
})

const request: ModelRequest = {
  source: "byok",
  modelId: null,
  system: "Be brief.",
  messages: [{ role: "user", text: "What is in a.txt?" }],
  tools: [
    {
      name: "read_file",
      description: "Reads a file.",
      inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    },
  ],
  labels: { runId: "r", projectId: null, agentName: null, purpose: "turn", step: 0 },
}

type Answer = (request: ModelCallReceived, index: number) => ChatReply | FailedReply

/** One table for all of them: how the fake is started and how the provider is configured. */
const providers = {
  "chat completions": {
    start: (answer: Answer) => startOpenAiServer(answer),
    more: {},
    path: "/v1/chat/completions",
  },
  responses: {
    start: (answer: Answer) => startOpenAiServer(answer),
    more: { wireApi: "responses" },
    path: "/v1/responses",
  },
  anthropic: {
    start: (answer: Answer) => startAnthropicServer(answer),
    more: { type: "anthropic" },
    path: "/v1/messages",
  },
  azure: {
    start: (answer: Answer) => startOpenAiServer(answer),
    more: { type: "azure", azureApiVersion: "2024-10-21" },
    path: "/v1/openai/deployments/gpt-x/chat/completions?api-version=2024-10-21",
  },
  "azure responses": {
    start: (answer: Answer) => startOpenAiServer(answer),
    more: { type: "azure", wireApi: "responses" },
    path: "/v1/openai/v1/responses",
  },
} as const satisfies Record<string, { start: unknown; more: Partial<Provider>; path: string }>

type Name = keyof typeof providers
const names = Object.keys(providers) as ReadonlyArray<Name>

const asked = Effect.fnUntraced(function* (
  name: Name,
  answer: Answer,
  { sent = request, maxAttempts = 1, idle = 10_000 }: { sent?: ModelRequest; maxAttempts?: number; idle?: number } = {},
) {
  const server = yield* providers[name].start(answer)
  const ask = yield* makeAsk({ maxAttempts, idle })
  const stream = ask({
    provider: providerAt(server.url, providers[name].more),
    modelId: "gpt-x",
    request: sent,
    outputTokens: 4_096,
  })
  return { server, stream }
})

const nothingReceived: Pick<ModelCallReceived, "headers" | "body"> = { headers: {}, body: undefined }

const textOf = (parts: ReadonlyArray<ModelPart>) =>
  parts.map((part) => (part.kind === "text" ? part.delta : "")).join("")
const callsOf = (parts: ReadonlyArray<ModelPart>) => parts.flatMap((part) => (part.kind === "call" ? [part.call] : []))
const endOf = (parts: ReadonlyArray<ModelPart>) => parts.find((part) => part.kind === "finish")

describe.each(names)("%s", (name) => {
  it.live("streams a text in parts and says what it used", () =>
    Effect.gen(function* () {
      const { server, stream } = yield* asked(name, () => ({
        text: "In a.txt there is nothing: \0.",
        usage: { input: 40, output: 9 },
      }))
      const parts = yield* Stream.runCollect(stream)
      expect(textOf(parts)).toBe("In a.txt there is nothing: \ufffd.")
      expect(parts.filter(({ kind }) => kind === "text").length).toBeGreaterThan(2)
      expect(endOf(parts)).toMatchObject({
        reason: "stop",
        modelId: "fake-model",
        usage: { inputTokens: 40, outputTokens: 9, totalTokens: 49, totalNanoAiu: 0 },
        timeToFirstTokenMs: expect.any(Number),
      })
      expect(parts.at(-1)?.kind).toBe("finish")
      expect(server.requests.map(({ path }) => path)).toEqual([providers[name].path])
      const { headers, body } = server.requests[0] ?? nothingReceived
      expect(headers["x-team"]).toBe("red")
      expect([headers.authorization, headers["api-key"], headers["x-api-key"]].join()).toContain(key)
      expect(body.model).toBe("gpt-x")
      expect(body.stream).toBe(true)
      expect(JSON.stringify(body)).toContain("Be brief.")
      expect(JSON.stringify(body.tools)).toContain("read_file")
    }),
  )

  it.live("gives parallel calls whole, with the arguments as they were written", () =>
    Effect.gen(function* () {
      const { stream } = yield* asked(name, () => ({
        text: "I look.",
        calls: [
          { id: "one", name: "read_file", arguments: { path: "a.txt" } },
          { id: "two", name: "read_file", arguments: { path: "ü ∅.txt" } },
        ],
      }))
      const parts = yield* Stream.runCollect(stream)
      expect(callsOf(parts).map((call) => ({ ...call, arguments: JSON.parse(call.arguments) }))).toEqual([
        { callId: "one", toolName: "read_file", arguments: { path: "a.txt" } },
        { callId: "two", toolName: "read_file", arguments: { path: "ü ∅.txt" } },
      ])
      expect(endOf(parts)).toMatchObject({ reason: "tool_calls" })
    }),
  )

  it.live("passes arguments on that are no JSON", () =>
    Effect.gen(function* () {
      const { stream } = yield* asked(name, () => ({
        calls: [{ id: "one", name: "read_file", arguments: '{"path": "a.t' }],
      }))
      const parts = yield* Stream.runCollect(stream)
      expect(callsOf(parts)).toEqual([{ callId: "one", toolName: "read_file", arguments: '{"path": "a.t' }])
    }),
  )

  it.live("sends what was said, called and found", () =>
    Effect.gen(function* () {
      const { server, stream } = yield* asked(name, () => ({ text: "Done." }), {
        sent: {
          ...request,
          messages: [
            ...request.messages,
            {
              role: "assistant",
              text: "I look.",
              calls: [{ callId: "one", toolName: "read_file", arguments: '{"path":"a.txt"}' }],
              opaque: { provider: "of-somebody-else", reasoning: [], calls: {} },
            },
            {
              role: "tool",
              results: [{ callId: "one", toolName: "read_file", text: "found: ∅", isError: false }],
            },
          ],
        },
      })
      yield* Stream.runDrain(stream)
      const sent = JSON.stringify(server.requests[0]?.body)
      for (const expected of ["What is in a.txt?", "I look.", "one", "a.txt", "found: ∅"])
        expect(sent).toContain(expected)
    }),
  )

  it.live("aborts the request when nobody reads any more", () =>
    Effect.gen(function* () {
      const { server, stream } = yield* asked(name, () => ({ text: "I think…", ending: "hang" }))
      const read = yield* Deferred.make<void>()
      const reader = yield* Effect.forkChild(Stream.runForEach(stream, () => Deferred.succeed(read, undefined)))
      yield* Deferred.await(read)
      yield* Fiber.interrupt(reader)
      expect(yield* Effect.promise(() => server.requests[0]?.ended ?? Promise.resolve(undefined))).toBe("given up")
    }),
  )

  it.live.each(["cut", "garbage", "error"] as const)("fails by name where the stream ends with: %s", (ending) =>
    Effect.gen(function* () {
      const read = Promise.withResolvers<void>()
      const reply = { text: "I begin", ending, endsAfter: read.promise }
      const { server, stream } = yield* asked(name, () => reply, { maxAttempts: 3 })
      const seen: Array<ModelPart> = []
      const look = (part: ModelPart) =>
        Effect.sync(() => {
          seen.push(part)
          read.resolve()
        })
      const failure = yield* Effect.flip(Stream.runForEach(stream, look))
      expect(failure).toMatchObject({ _tag: "ModelFailed", kind: "ProviderUnavailable", retryable: true })
      expect(seen.map(({ kind }) => kind)).not.toContain("finish")
      expect(textOf(seen).length).toBeGreaterThan(0)
      // what was said would be said twice
      expect(server.requests).toHaveLength(1)
    }),
  )

  it.live("gives up a stream that falls silent", () =>
    Effect.gen(function* () {
      const { stream } = yield* asked(name, () => ({ text: "I begin", ending: "hang" }), { idle: 200 })
      const failure = yield* Effect.flip(Stream.runDrain(stream))
      expect(failure).toMatchObject({ kind: "ProviderUnavailable", retryable: true })
      expect(failure.message).toContain("silent")
    }),
  )

  it.live("tries again what is worth it, and then streams", () =>
    Effect.gen(function* () {
      const { server, stream } = yield* asked(
        name,
        (_, index) => (index < 1 ? fails(503, "busy", { "retry-after-ms": "1" }) : { text: "Now." }),
        { maxAttempts: 2 },
      )
      expect(textOf(yield* Stream.runCollect(stream))).toBe("Now.")
      expect(server.requests).toHaveLength(2)
    }),
  )
})

/** What a wrong address answers with. */
const page: FailedReply = { status: 200, body: "<html>Welcome</html>", headers: { "content-type": "text/html" } }

describe("failures", () => {
  const cases: ReadonlyArray<readonly [Name, FailedReply, string, boolean]> = [
    ["chat completions", fails(401, "invalid_api_key"), "Authorization", false],
    ["chat completions", fails(403, "permission_denied"), "Authorization", false],
    ["chat completions", fails(404, "model_not_found"), "UnavailableModel", false],
    ["chat completions", { status: 404, body: "404 page not found" }, "Configuration", false],
    [
      "chat completions",
      {
        status: 404,
        body: { error: { message: 'model "llama9" not found, try pulling it first', type: "api_error" } },
      },
      "UnavailableModel",
      false,
    ],
    ["chat completions", fails(429, "rate_limit_exceeded"), "RateLimited", true],
    ["chat completions", fails(429, "insufficient_quota"), "RateLimited", false],
    ["chat completions", fails(402, "payment_required"), "RateLimited", false],
    ["chat completions", fails(500, "server_error"), "ProviderUnavailable", true],
    ["chat completions", { status: 502, body: "<html>bad gateway</html>" }, "ProviderUnavailable", true],
    ["chat completions", fails(400, "context_length_exceeded"), "TooLong", false],
    [
      "chat completions",
      {
        status: 400,
        body: { object: "error", message: "This model's maximum context length is 4096 tokens.", code: 400 },
      },
      "TooLong",
      false,
    ],
    ["chat completions", fails(400, "content_filter"), "Refused", false],
    ["chat completions", page, "Configuration", false],
    ["responses", page, "Configuration", false],
    ["anthropic", page, "Configuration", false],
    ["chat completions", fails(200, "invalid_api_key"), "Authorization", false],
    ["chat completions", fails(200, "something_else"), "Configuration", false],
    ["chat completions", fails(400, "something_else"), "Configuration", false],
    [
      "chat completions",
      { status: 302, body: "", headers: { location: "http://127.0.0.1:1/" } },
      "Configuration",
      false,
    ],
    [
      "azure",
      { status: 404, body: { error: { code: "DeploymentNotFound", message: "The API deployment does not exist." } } },
      "UnavailableModel",
      false,
    ],
    [
      "azure",
      {
        status: 400,
        body: { error: { code: "bad", message: "", innererror: { code: "ResponsibleAIPolicyViolation" } } },
      },
      "Refused",
      false,
    ],
    ["anthropic", anthropicFails(401, "authentication_error"), "Authorization", false],
    ["anthropic", anthropicFails(404, "not_found_error", "model: claude-9"), "UnavailableModel", false],
    ["anthropic", anthropicFails(429, "rate_limit_error"), "RateLimited", true],
    ["anthropic", anthropicFails(529, "overloaded_error"), "ProviderUnavailable", true],
    [
      "anthropic",
      anthropicFails(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
      "TooLong",
      false,
    ],
    [
      "anthropic",
      anthropicFails(400, "invalid_request_error", "Your credit balance is too low to access the API."),
      "RateLimited",
      false,
    ],
    ["responses", fails(429, "rate_limit_exceeded"), "RateLimited", true],
  ]

  it.live.each(cases)("%s: %o is %s, worth another try: %s", ([name, reply, kind, retryable]) =>
    Effect.gen(function* () {
      const { server, stream } = yield* asked(name, () => reply)
      const failure = yield* Effect.flip(Stream.runDrain(stream))
      expect(failure).toMatchObject({ _tag: "ModelFailed", kind, retryable })
      expect(server.requests).toHaveLength(1)
      for (const secret of [key, "sk-leaked", "words of the prompt", "a.txt"])
        expect(failure.message).not.toContain(secret)
    }),
  )

  it.live("names the status, the code and the provider's id of the request", () =>
    Effect.gen(function* () {
      const { stream } = yield* asked("anthropic", () => anthropicFails(529, "overloaded_error"))
      const { message } = yield* Effect.flip(Stream.runDrain(stream))
      expect(message).toMatch(
        /^The provider \(anthropic at 127\.0\.0\.1:\d+\): .*\(529, overloaded_error, request req_0123\)\.$/,
      )
    }),
  )

  it.live("says so where nobody listens", () =>
    Effect.gen(function* () {
      const ask = yield* makeAsk({ maxAttempts: 1, idle: 5_000 })
      const gone = yield* Effect.scoped(startOpenAiServer(() => ({})))
      const provider = providerAt(gone.url)
      const stream = ask({ provider, modelId: "m", request, outputTokens: 1 })
      const failure = yield* Effect.flip(Stream.runDrain(stream))
      expect(failure).toMatchObject({ kind: "ProviderUnavailable", retryable: true })
      expect(failure.message).toContain("cannot be reached (ECONNREFUSED)")
    }),
  )

  it.live("asks nobody without a key or an address", () =>
    Effect.gen(function* () {
      const ask = yield* makeAsk({ maxAttempts: 1, idle: 5_000 })
      for (const provider of [
        { ...providerAt(""), baseUrl: null, apiKey: null },
        { ...providerAt("", { type: "azure" }), baseUrl: null },
      ]) {
        const stream = ask({ provider, modelId: "m", request, outputTokens: 1 })
        expect(yield* Effect.flip(Stream.runDrain(stream))).toMatchObject({ kind: "Configuration", retryable: false })
      }
    }),
  )

  it.live("sends no empty credential to a server that needs none", () =>
    Effect.gen(function* () {
      for (const name of names) {
        const server = yield* providers[name].start(() => ({ text: "Hello." }))
        const ask = yield* makeAsk({ maxAttempts: 1, idle: 5_000 })
        const provider = providerAt(server.url, { ...providers[name].more, apiKey: null })
        yield* Stream.runDrain(ask({ provider, modelId: "gpt-x", request, outputTokens: 1 }))
        const { headers } = server.requests[0] ?? nothingReceived
        expect(Object.keys(headers)).not.toEqual(
          expect.arrayContaining([expect.stringMatching(/authorization|api-key/)]),
        )
      }
    }),
  )
})

describe("reasoning", () => {
  it.live.each(["anthropic", "responses"] as const)("of %s goes back sealed, and is not shown", (name) =>
    Effect.gen(function* () {
      const call = { id: "one", name: "read_file", arguments: { path: "a.txt" } }
      const { server, stream } = yield* asked(name, () => ({ reasoning: "secret-thought", text: "Hm.", calls: [call] }))
      const parts = yield* Stream.runCollect(stream)
      expect(textOf(parts)).toBe("Hm.")
      const end = endOf(parts)
      expect(end?.opaque).toBeDefined()
      const ask = yield* makeAsk({ maxAttempts: 1, idle: 5_000 })
      const again: ModelRequest = {
        ...request,
        messages: [
          ...request.messages,
          // as it comes back from the store
          { role: "assistant", text: "Hm.", calls: callsOf(parts), opaque: JSON.parse(JSON.stringify(end?.opaque)) },
          { role: "tool", results: [{ callId: "one", toolName: "read_file", text: "∅", isError: true }] },
        ],
      }
      const provider = providerAt(server.url, providers[name].more)
      yield* Stream.runDrain(ask({ provider, modelId: "gpt-x", request: again, outputTokens: 4_096 }))
      const sent = JSON.stringify(server.requests[1]?.body)
      expect(sent).toContain("secret-thought")
      if (name === "anthropic") expect(sent).toContain("signed-0123")
      else expect(sent).toContain('"store":false')
    }),
  )

  it.live("without a signature is dropped", () =>
    Effect.gen(function* () {
      const { stream } = yield* asked("chat completions", () => ({ reasoning: "secret-thought", text: "Hm." }))
      const parts = yield* Stream.runCollect(stream)
      expect(JSON.stringify(parts)).not.toContain("thought")
    }),
  )
})
