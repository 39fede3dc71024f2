import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeOutgoing } from "#runtime/outgoing/outgoing.ts"
import { type IoSession, makePolicyIo, mostCalls, mostIoBytes } from "#runtime/plugin-host/io/policy-io.ts"
import type { IoCall } from "#runtime/plugin-host/wasm/io-request.ts"
import { certificateFor } from "#test/support/certificate.ts"
import { testDatabase } from "#test/support/database.ts"
import { webServer } from "#test/support/web-server.ts"

const certificate = certificateFor("api.example.test", "other.example.test")

/** A plugin that was granted this server, under one of its two names, and to keep values. */
const granted = (plugin: string, body = "hello") =>
  Effect.gen(function* () {
    const server = yield* webServer((request, response) => {
      if (request.url === "/moved") response.writeHead(302, { location: "https://10.0.0.1/" }).end()
      else response.end(`${body} ${request.method} ${request.headers.authorization ?? ""}`)
    }, certificate)
    const outgoing = makeOutgoing({
      trusted: [certificate.cert],
      permitted: [server],
      resolver: async () => [server.address],
    })
    const origin = `https://api.example.test:${server.port}`
    const io = yield* makePolicyIo({ plugin, outgoing, grants: { net: [origin], kv: true, config: [] } })
    return { server, origin, outgoing, io }
  })

const ask = (session: IoSession, call: IoCall, request: unknown) =>
  Effect.map(session.serve(call, Buffer.from(JSON.stringify(request))), (answer): unknown =>
    JSON.parse(Buffer.from(answer).toString()),
  )

layer(testDatabase, { excludeTestServices: true, timeout: "30 seconds" })("what a policy asks for", (it) => {
  it.effect("is served by what it was granted", () =>
    Effect.gen(function* () {
      const { io, origin } = yield* granted("served")
      const session = io.begin()
      const headers = { authorization: "Bearer abc" }
      expect(yield* ask(session, "http", { url: `${origin}/a`, method: "POST", body: "x", headers })).toMatchObject({
        ok: true,
        status: 200,
        body: "hello POST Bearer abc",
      })
      expect(yield* ask(session, "kv", { do: "set", key: "a", value: "1" })).toEqual({ ok: true, done: true })
      expect(yield* ask(session, "kv", { do: "get", key: "a" })).toEqual({ ok: true, value: "1" })
      expect(yield* ask(session, "kv", { do: "set", key: "a", value: "2", if: null })).toEqual({
        ok: true,
        done: false,
      })
      expect(yield* ask(session, "kv", { do: "delete", key: "a" })).toEqual({ ok: true, done: true })
      expect(yield* ask(session, "kv", { do: "get", key: "a" })).toEqual({ ok: true, value: null })
    }),
  )

  it.effect("is refused at every other origin, and where it leads elsewhere it is not followed", () =>
    Effect.gen(function* () {
      const { io, origin, server } = yield* granted("elsewhere")
      const urls = [
        `https://other.example.test:${server.port}/`,
        `http://api.example.test:${server.port}/`,
        "https://api.example.test/",
        `${origin}.evil.example/`,
        `https://127.0.0.1:${server.port}/`,
        "https://169.254.169.254/latest/meta-data/",
      ]
      for (const url of urls) {
        const answer = yield* ask(io.begin(), "http", { url })
        expect(answer, url).toMatchObject({ ok: false, reason: expect.stringMatching(/^(origin|scheme|url)$/) })
      }
      expect(server.asked).toHaveLength(0)
      expect(yield* ask(io.begin(), "http", { url: `${origin}/moved` })).toMatchObject({ ok: true, status: 302 })
    }),
  )

  it.effect("is refused without a grant, whatever the module could import", () =>
    Effect.gen(function* () {
      const { outgoing, origin } = yield* granted("without")
      const io = yield* makePolicyIo({ plugin: "without", outgoing, grants: { net: [], kv: false, config: [] } })
      expect(yield* ask(io.begin(), "http", { url: origin })).toMatchObject({ ok: false, reason: "origin" })
      expect(yield* ask(io.begin(), "kv", { do: "get", key: "a" })).toMatchObject({ ok: false, reason: "not_granted" })
    }),
  )

  it.effect.each<readonly [IoCall, string | Uint8Array]>([
    ["http", "no JSON"],
    ["http", new Uint8Array([0xff, 0xfe])],
    ["http", "null"],
    ["http", "{}"],
    ["http", '{"url":1}'],
    ["http", '{"url":"https://api.example.test/","follow":true}'],
    ["http", '{"url":"https://api.example.test/","timeoutMs":1e9}'],
    ["http", '{"url":"https://api.example.test/","method":"TRACE"}'],
    ["kv", '{"do":"drop","key":"a"}'],
    ["kv", '{"do":"get"}'],
    ["kv", '{"do":"get","key":""}'],
    ["kv", '{"do":"get","key":"a","plugin":"other"}'],
    ["kv", '{"do":"get","key":"a\\u0000b"}'],
    ["kv", '{"do":"get","key":"\\ud800"}'],
    ["kv", `{"do":"get","key":"${"ü".repeat(129)}"}`],
    ["kv", `{"do":"set","key":"a","value":"${"x".repeat(16_385)}"}`],
    ["kv", "[".repeat(30)],
  ])("that is not a request of %s has an answer that says so: %j", ([call, request]) =>
    Effect.gen(function* () {
      const { io } = yield* granted("requests")
      const answer = yield* io.begin().serve(call, Buffer.from(request))
      expect(JSON.parse(Buffer.from(answer).toString())).toMatchObject({ ok: false, reason: "request" })
    }),
  )

  it.effect("is bounded in one decision, and not in the next", () =>
    Effect.gen(function* () {
      const { io, origin, server } = yield* granted("bounded")
      const session = io.begin()
      const url = `${origin}/`
      for (let at = 0; at < mostCalls.http; at++)
        expect(yield* ask(session, "http", { url })).toMatchObject({ ok: true })
      expect(yield* ask(session, "http", { url })).toMatchObject({ ok: false, reason: "limit" })
      expect(server.asked).toHaveLength(mostCalls.http)
      for (let at = 0; at < mostCalls.kv; at++) yield* ask(session, "kv", { do: "get", key: "a" })
      expect(yield* ask(session, "kv", { do: "get", key: "a" })).toMatchObject({ ok: false, reason: "limit" })
      expect(yield* ask(io.begin(), "http", { url })).toMatchObject({ ok: true })
    }),
  )

  it.effect("is bounded in size, of one answer and of all", () =>
    Effect.gen(function* () {
      const large = yield* granted("large", "x".repeat(200_000))
      const one = yield* ask(large.io.begin(), "http", { url: large.origin })
      expect(one).toMatchObject({ ok: false, reason: "too_large" })
      const { io, origin } = yield* granted("many", "x".repeat(100_000))
      const session = io.begin()
      const answers = []
      for (let at = 0; at < 8; at++)
        answers.push(yield* session.serve("http", Buffer.from(JSON.stringify({ url: origin }))))
      const bytes = answers.reduce((sum, answer) => sum + answer.length, 0)
      expect(bytes).toBeLessThanOrEqual(mostIoBytes)
      expect(JSON.parse(Buffer.from(answers.at(-1) ?? []).toString())).toMatchObject({ ok: false, reason: "limit" })
    }),
  )

  it.effect("is in the receipt by a digest: the same for the same answers, another for others, none for none", () =>
    Effect.gen(function* () {
      const { io } = yield* granted("digests")
      const used = Effect.fnUntraced(function* (...keys: ReadonlyArray<string>) {
        const session = io.begin()
        for (const key of keys) yield* ask(session, "kv", { do: "get", key })
        return session.used()
      })
      expect(yield* used()).toBeUndefined()
      const first = yield* used("a", "b")
      expect(first).toEqual({ calls: 2, digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) })
      expect(yield* used("a", "b")).toEqual(first)
      expect(yield* used("b", "a")).not.toEqual(first)
      yield* ask(io.begin(), "kv", { do: "set", key: "a", value: "1" })
      expect(yield* used("a", "b")).not.toEqual(first)
    }),
  )
})
