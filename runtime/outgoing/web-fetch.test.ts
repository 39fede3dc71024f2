import type { RequestListener } from "node:http"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Outgoing } from "#runtime/outgoing/outgoing.ts"
import { webFetch } from "#runtime/outgoing/web-fetch.ts"
import { webServer } from "#test/support/web-server.ts"

const fetched = Effect.fnUntraced(function* (answer: RequestListener, path = "/") {
  const server = yield* webServer(answer)
  const outgoing = Outgoing.layerWith({ permitted: [server], resolver: async () => [server.address] })
  const rules = { schemes: ["http:"], ports: [server.port] } as const
  return yield* Effect.provide(webFetch(`http://docs.example.test:${server.port}${path}`, { rules }), outgoing)
})

const page =
  (contentType: string, body: string | Buffer): RequestListener =>
  (_, response) => {
    response.writeHead(200, { "content-type": contentType }).end(body)
  }

describe("a page", () => {
  it.live("of HTML is given as the text that a person reads", () =>
    Effect.gen(function* () {
      const html =
        "<!doctype html><title>The &amp; title</title><script>var a = '<p>no</p>'</script><p>Hello  <b>you</b>"
      const { text, ...rest } = yield* fetched(page("text/html; charset=utf-8", html))
      expect(text).toBe("The & title\n\nHello you")
      expect(rest).toMatchObject({ contentType: "text/html", status: 200, truncated: false })
    }),
  )

  it.live("of another text is given as it is, in its own encoding", () =>
    Effect.gen(function* () {
      const { text } = yield* fetched(page('text/plain; charset="iso-8859-1"', Buffer.from([0x3c, 0xfc, 0x3e])))
      expect(text).toBe("<ü>")
      expect((yield* fetched(page("application/json", '{"a":1}'))).text).toBe('{"a":1}')
      expect((yield* fetched(page("text/plain; charset=klingon", "ok"))).text).toBe("ok")
    }),
  )

  it.live("that is no text is not given", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(fetched(page("image/png", Buffer.from([0x89]))))
      expect(failure).toMatchObject({ _tag: "OutgoingFailed", reason: "encoding" })
    }),
  )

  it.live("is cut where it is long, between two characters, and says so", () =>
    Effect.gen(function* () {
      const long = yield* fetched(page("text/plain", "é".repeat(40_000)))
      expect([long.text, long.truncated]).toEqual(["é".repeat(32_768), true])
      const longer = yield* fetched(page("text/html", `<p>${"a".repeat(600_000)}`))
      expect([longer.text.length, longer.truncated]).toEqual([65_536, true])
      const hidden = yield* fetched(page("text/html", `<script>${"a".repeat(600_000)}</script><p>end`))
      expect([hidden.text, hidden.truncated]).toEqual(["", true])
    }),
  )

  it.live("is followed where it has moved", () =>
    Effect.gen(function* () {
      const { text, url } = yield* fetched((request, response) => {
        if (request.url === "/new") page("text/plain", "moved")(request, response)
        else response.writeHead(301, { location: "/new" }).end()
      })
      expect(text).toBe("moved")
      expect(url).toMatch(/\/new$/)
    }),
  )

  it.live("is not asked for by http, unless that is allowed", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(Effect.provide(webFetch("http://example.com/"), Outgoing.layer))
      expect(failure).toMatchObject({ _tag: "OutgoingRefused", reason: "scheme" })
    }),
  )
})
