/** An answer means the same however the network cuts it. */
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Stream } from "effect"
import fc from "fast-check"
import type { ModelPart } from "#core/wire/model.ts"
import { exchange } from "#runtime/model/provider/exchange.ts"
import { openModel } from "#runtime/model/provider/open.ts"
import type { Provider } from "#runtime/model/provider/provider.ts"
import { messagesWire } from "#test/fakes/anthropic-server.ts"
import { chatWire, responsesWire } from "#test/fakes/openai-server.ts"

const reply = {
  text: "Grüße: ∅ 👩‍🚀\n\ndata: no event",
  reasoning: "hm",
  calls: [
    { id: "one", name: "write_file", arguments: { path: "ü.txt", content: "a\r\nb\n\n" } },
    { id: "two", name: "read_file", arguments: '{"broken": ' },
  ],
}

const wires = {
  completions: { bytes: chatWire(reply).chunks.join(""), type: "openai", wireApi: "completions" },
  responses: { bytes: responsesWire(reply).chunks.join(""), type: "openai", wireApi: "responses" },
  anthropic: { bytes: messagesWire(reply).chunks.join(""), type: "anthropic", wireApi: "completions" },
} as const

const answerOf = (name: keyof typeof wires, cuts: ReadonlyArray<number>) => {
  const { bytes, type, wireApi } = wires[name]
  const all = new TextEncoder().encode(bytes)
  const borders = [0, ...[...new Set(cuts)].map((cut) => cut % all.length).sort((a, b) => a - b), all.length]
  const pieces = borders.slice(1).map((end, index) => all.subarray(borders[index], end))
  const fetch = async () =>
    new Response(ReadableStream.from(pieces), { headers: { "content-type": "text/event-stream" } })
  const address = "http://provider.invalid/v1"
  const provider: Provider = {
    type,
    wireApi,
    baseUrl: address,
    apiKey: null,
    headers: {},
    azureApiVersion: null,
    model: null,
  }
  const stream = exchange(
    {
      open: () => openModel(provider, address, "m", fetch),
      type,
      name: "test",
      outputTokens: 100,
      idle: Duration.seconds(20),
    },
    {
      source: "byok",
      modelId: null,
      system: "",
      messages: [{ role: "user", text: "?" }],
      tools: [],
      labels: { runId: "r", projectId: null, agentName: null, purpose: "turn", step: 0 },
    },
  )
  return Effect.runPromise(Effect.map(Stream.runCollect(stream), (parts) => parts.map(withoutTime)))
}

const withoutTime = (part: ModelPart): ModelPart =>
  part.kind === "finish" ? { ...part, timeToFirstTokenMs: null } : part

describe.each(Object.keys(wires) as ReadonlyArray<keyof typeof wires>)("%s", (name) => {
  it("gives the same parts, whatever the bytes are cut into", async () => {
    const whole = await answerOf(name, [])
    expect(whole.map((part) => (part.kind === "text" ? part.delta : "")).join("")).toBe(reply.text)
    expect(whole.filter(({ kind }) => kind === "call")).toHaveLength(2)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(20_000), { maxLength: 40 }), async (cuts) => {
        expect(await answerOf(name, cuts)).toEqual(whole)
      }),
      { numRuns: 40 },
    )
  })

  it("gives the same parts byte by byte", async () => {
    const every = Array.from({ length: wires[name].bytes.length * 2 }, (_, index) => index)
    expect(await answerOf(name, every)).toEqual(await answerOf(name, []))
  })
})
