import type { RequestListener } from "node:http"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { afterEach, describe, expect, it, vi } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { makeOutgoing, type OutgoingRequest } from "#runtime/outgoing/outgoing.ts"
import { limited } from "#runtime/outgoing/resolve.ts"
import { certificateFor } from "#test/support/certificate.ts"
import { webServer } from "#test/support/web-server.ts"

const certificate = certificateFor("api.example.test", "other.example.test")

/** A client for which all names but `within.*` are this server; `within.*` are private. */
const serving = Effect.fnUntraced(function* (answer: RequestListener, trusted = [certificate.cert]) {
  const server = yield* webServer(answer, certificate)
  const resolved: Array<string> = []
  const { fetch } = makeOutgoing({
    trusted,
    permitted: [server],
    resolver: async (host) => {
      resolved.push(host)
      return [host.startsWith("within.") ? "10.0.0.1" : server.address]
    },
  })
  const at = (path: string, host = "api.example.test") => `https://${host}:${server.port}${path}`
  const get = (path: string, more: Partial<OutgoingRequest> = {}) =>
    fetch({ url: at(path), ports: [server.port], timeLimit: Duration.seconds(20), ...more })
  return { server, resolved, fetch, at, get }
})

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

describe("a fetch", () => {
  it.live("connects to the address that was checked, by the name of the URL", () =>
    Effect.gen(function* () {
      const { server, resolved, get, at } = yield* serving((request, response) => {
        response.setHeader("set-cookie", "session=1").setHeader("x-a", "b").end(`hello ${request.headers.host}`)
      })
      const answer = yield* get("/page?q=1#part")
      expect(answer).toMatchObject({ status: 200, url: at("/page?q=1"), truncated: false })
      expect(text(answer.bytes)).toBe(`hello api.example.test:${server.port}`)
      expect(answer.headers).toMatchObject({ "x-a": "b" })
      expect(Object.keys(answer.headers)).not.toContain("set-cookie")
      expect(resolved).toEqual(["api.example.test"])
      const [asked] = server.asked
      expect(asked).toMatchObject({ method: "GET", url: "/page?q=1", headers: { "user-agent": "svc" } })
      expect(Object.keys(asked?.headers ?? {}).toSorted()).toEqual([
        "accept",
        "accept-encoding",
        "connection",
        "host",
        "user-agent",
      ])
    }),
  )

  it.live("resolves a name once for each request: an answer that changes afterwards changes nothing", () =>
    Effect.gen(function* () {
      const server = yield* webServer((_, response) => response.end("ok"), certificate)
      const answers = [[server.address], ["169.254.169.254"]]
      const { fetch } = makeOutgoing({
        trusted: [certificate.cert],
        permitted: [server],
        resolver: async () => answers.shift() ?? expect.fail("it was resolved again"),
      })
      const request = { url: `https://api.example.test:${server.port}/`, ports: [server.port] }
      expect((yield* fetch(request)).status).toBe(200)
      expect(yield* Effect.flip(fetch(request))).toMatchObject({ reason: "address" })
      expect(server.asked).toHaveLength(1)
    }),
  )

  it.live("uses only the public addresses of a name that has others too", () =>
    Effect.gen(function* () {
      const server = yield* webServer((_, response) => response.end("ok"), certificate)
      const elsewhere = yield* webServer((_, response) => response.end("private"), certificate)
      const { fetch } = makeOutgoing({
        trusted: [certificate.cert],
        permitted: [server],
        resolver: async () => ["10.0.0.1", "::1", server.address],
      })
      const url = (port: number) => `https://api.example.test:${port}/`
      expect(text((yield* fetch({ url: url(server.port), ports: [server.port] })).bytes)).toBe("ok")
      // permitted is an address with its port
      const refusal = yield* Effect.flip(fetch({ url: url(elsewhere.port), ports: [elsewhere.port] }))
      expect(refusal).toMatchObject({ reason: "address" })
    }),
  )

  it.live("trusts no certificate for another name, nor one that nobody signed", () =>
    Effect.gen(function* () {
      const { fetch, at, server } = yield* serving((_, response) => response.end())
      const stranger = fetch({ url: at("/", "stranger.example.test"), ports: [server.port] })
      expect(yield* Effect.flip(stranger)).toMatchObject({ reason: "tls" })
      const { get } = yield* serving((_, response) => response.end(), [])
      expect(yield* Effect.flip(get("/"))).toMatchObject({ reason: "tls" })
    }),
  )

  it.live("says what is wrong where nobody answers, and names no address", () =>
    Effect.gen(function* () {
      const { server, get } = yield* serving((request) => request.socket.destroy())
      const failure = yield* Effect.flip(get("/"))
      expect(failure).toMatchObject({ _tag: "OutgoingFailed", reason: "unreachable" })
      expect(failure.message).not.toContain(server.address)
      const { fetch } = makeOutgoing({ resolver: () => Promise.reject(new Error("no such name")) })
      expect(yield* Effect.flip(fetch({ url: "https://nowhere.example.test/" }))).toMatchObject({
        reason: "name_not_found",
      })
    }),
  )

  describe("where the environment names a proxy", () => {
    afterEach(() => vi.unstubAllEnvs())
    it.live("goes past it", () =>
      Effect.gen(function* () {
        const proxy = yield* webServer((_, response) => response.end("proxy"))
        for (const name of ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]) {
          vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`)
        }
        const { get } = yield* serving((_, response) => response.end("server"))
        expect(text((yield* get("/")).bytes)).toBe("server")
        expect(proxy.open()).toBe(0)
      }),
    )
  })
})

describe("names", () => {
  it("are resolved so many at once, so many wait, and the next begins as soon as one ends", async () => {
    const open: Array<{ readonly host: string; readonly end: () => void }> = []
    const resolver = limited(2, 2, async (host) => {
      await new Promise<void>((end) => open.push({ host, end }))
      if (host === "a") throw new Error("no such name")
      return [host]
    })
    const answers = ["a", "b", "c", "d", "e"].map((host) => resolver(host).catch(() => "failed"))
    const hosts = () => open.map(({ host }) => host)
    expect(hosts()).toEqual(["a", "b"])
    expect(await answers[4]).toBe("failed")
    open[0]?.end()
    expect(await answers[0]).toBe("failed")
    await vi.waitFor(() => expect(hosts()).toEqual(["a", "b", "c"]))
    for (const at of [1, 2]) open[at]?.end()
    await vi.waitFor(() => expect(hosts()).toEqual(["a", "b", "c", "d"]))
    open[3]?.end()
    expect(await Promise.all(answers)).toEqual(["failed", ["b"], ["c"], ["d"], "failed"])
  })
})

describe("a redirect", () => {
  const leading =
    (location: string): RequestListener =>
    (request, response) => {
      if (request.url === "/end") response.end("the end")
      else response.writeHead(302, { location }).end()
    }

  it.live("is an answer like any other, unless it is to be followed", () =>
    Effect.gen(function* () {
      const { get, server } = yield* serving(leading("/end"))
      expect(yield* get("/")).toMatchObject({ status: 302, headers: { location: "/end" } })
      const followed = yield* get("/", { redirects: 1 })
      expect(text(followed.bytes)).toBe("the end")
      expect(followed.url).toContain("/end")
      expect(server.asked).toHaveLength(3)
    }),
  )

  it.live.each<readonly [string, string]>([
    ["https://within.example.test/", "address"],
    ["https://10.0.0.1/", "address"],
    ["https://[::ffff:169.254.169.254]/", "address"],
    ["//0x7f.1/", "address"],
    ["https://localhost/", "host"],
    ["https://user@api.example.test/", "userinfo"],
    ["http://api.example.test/", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["https://api.example.test:25/", "port"],
    ["https://[/", "url"],
  ])("to %s is refused for its %s", ([location, reason]) =>
    Effect.gen(function* () {
      const { get, server } = yield* serving(leading(location))
      const refusal = yield* Effect.flip(get("/", { redirects: 5 }))
      expect(refusal).toMatchObject({ _tag: "OutgoingRefused", reason })
      expect(server.asked).toHaveLength(1)
    }),
  )

  it.live("is not followed beyond the origins that may be called, nor from https to http where both may be", () =>
    Effect.gen(function* () {
      const { get, at, server } = yield* serving((_, response) => {
        response.writeHead(307, { location: at("/", "other.example.test") }).end()
      })
      const origins = [new URL(at("/")).origin]
      expect(yield* Effect.flip(get("/", { redirects: 5, origins }))).toMatchObject({ reason: "origin" })
      const plain = yield* serving(leading(`http://api.example.test:${server.port}/`))
      const ports = [server.port, plain.server.port]
      const down = plain.get("/", { redirects: 5, schemes: ["https:", "http:"], ports })
      expect(yield* Effect.flip(down)).toMatchObject({ reason: "scheme" })
    }),
  )

  it.live("is followed so many times", () =>
    Effect.gen(function* () {
      const { get, server } = yield* serving(leading("/again"))
      expect(yield* Effect.flip(get("/", { redirects: 3 }))).toMatchObject({ reason: "redirects" })
      expect(server.asked).toHaveLength(4)
    }),
  )

  it.live("to another host does not take the headers along, and a body is never sent again", () =>
    Effect.gen(function* () {
      const { get, at, server } = yield* serving((request, response) => {
        if (request.headers.host?.startsWith("other")) response.end()
        else response.writeHead(308, { location: at("/", "other.example.test") }).end()
      })
      const headers = { authorization: "Bearer hunter2", accept: "text/plain" }
      yield* get("/", { redirects: 1, headers })
      expect(server.asked.map((each) => each.headers.authorization)).toEqual(["Bearer hunter2", undefined])
      expect(server.asked.map((each) => each.headers.accept)).toEqual(["text/plain", "text/plain"])
      const posted = yield* get("/", { method: "POST", methods: ["POST"], body: Buffer.from("x"), redirects: 1 })
      expect(posted.status).toBe(308)
    }),
  )
})

describe("the size of an answer", () => {
  const megabyte = 1_024 * 1_024
  const zeros = Buffer.alloc(20 * megabyte)
  const bombs: ReadonlyArray<readonly [string, string | undefined, Buffer]> = [
    ["plain", undefined, zeros],
    ["gzip", "gzip", gzipSync(zeros)],
    ["brotli", "br", brotliCompressSync(zeros)],
  ]

  it.live.each(bombs)("is bounded after it is decompressed: %s", ([, encoding, body]) =>
    Effect.gen(function* () {
      const { get } = yield* serving((_, response) => {
        response.writeHead(200, encoding === undefined ? {} : { "content-encoding": encoding }).end(body)
      })
      expect(yield* Effect.flip(get("/", { mostBytes: megabyte }))).toMatchObject({ reason: "too_large" })
      const cut = yield* get("/", { mostBytes: megabyte, cut: true })
      expect([cut.bytes.length, cut.truncated]).toEqual([megabyte, true])
    }),
  )

  it.live("may be what is allowed, to the byte", () =>
    Effect.gen(function* () {
      const { get } = yield* serving((_, response) => response.end(Buffer.alloc(1_000, "a")))
      const whole = yield* get("/", { mostBytes: 1_000, cut: true })
      expect([whole.bytes.length, whole.truncated]).toEqual([1_000, false])
      expect(yield* Effect.flip(get("/", { mostBytes: 999 }))).toMatchObject({ reason: "too_large" })
    }),
  )

  it.live("ends an endless one", () =>
    Effect.gen(function* () {
      const { get } = yield* serving((_, response) => {
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        }
        response.on("drain", more)
        more()
      })
      expect(yield* Effect.flip(get("/"))).toMatchObject({ reason: "too_large" })
    }),
  )

  it.live.each<readonly [string, Buffer, string]>([
    ["deflate", gzipSync("hello"), "encoding"],
    ["gzip, br", gzipSync("hello"), "encoding"],
    ["gzip", Buffer.from("not compressed at all"), "encoding"],
    ["br", Buffer.from("not compressed at all"), "encoding"],
    ["gzip", gzipSync("hello").subarray(0, 12), "encoding"],
  ])("is not known where it is said to be %s and is not", ([encoding, body, reason]) =>
    Effect.gen(function* () {
      const { get } = yield* serving((_, response) => {
        response.writeHead(200, { "content-encoding": encoding }).end(body)
      })
      expect(yield* Effect.flip(get("/"))).toMatchObject({ reason })
    }),
  )

  it.live("bounds the headers too", () =>
    Effect.gen(function* () {
      const { get } = yield* serving((_, response) => response.setHeader("x-large", "a".repeat(20_000)).end())
      expect(yield* Effect.flip(get("/"))).toMatchObject({ reason: "protocol" })
    }),
  )
})

describe("the time of an answer", () => {
  const slow: ReadonlyArray<readonly [string, RequestListener]> = [
    ["headers", () => {}],
    ["body", (_, response) => void response.write("a")],
  ]
  it.live.each(slow)("is bounded where the %s do not come", ([, answer]) =>
    Effect.gen(function* () {
      const { get } = yield* serving(answer)
      const failure = yield* Effect.flip(get("/", { timeLimit: Duration.millis(200) }))
      expect(failure).toMatchObject({ reason: "timed_out" })
    }),
  )

  it.live("is bounded where the name is not resolved", () =>
    Effect.gen(function* () {
      const { fetch } = makeOutgoing({ resolver: () => new Promise(() => {}) })
      const failure = fetch({ url: "https://example.com/", timeLimit: Duration.millis(50) })
      expect(yield* Effect.flip(failure)).toMatchObject({ reason: "timed_out" })
    }),
  )

  it.live("ends with whoever waits for it, and so does the connection", () =>
    Effect.gen(function* () {
      let arrived: () => void = () => {}
      let left: () => void = () => {}
      const asked = new Promise<void>((resolve) => (arrived = resolve))
      const gone = new Promise<void>((resolve) => (left = resolve))
      const { get } = yield* serving((request) => {
        request.socket.once("close", left)
        arrived()
      })
      const waiting = yield* Effect.forkChild(get("/"))
      yield* Effect.promise(() => asked)
      yield* Fiber.interrupt(waiting)
      yield* Effect.promise(() => gone)
    }),
  )
})

describe("a request", () => {
  it.live("has the methods that its caller may use, and a body only where it is sent", () =>
    Effect.gen(function* () {
      const { get, server } = yield* serving((request, response) => {
        request.pipe(response)
      })
      expect(yield* Effect.flip(get("/", { method: "POST" }))).toMatchObject({ reason: "method" })
      expect(yield* Effect.flip(get("/", { body: Buffer.from("x") }))).toMatchObject({ reason: "body" })
      expect(server.asked).toEqual([])
      const posted = yield* get("/", { method: "POST", methods: ["GET", "POST"], body: Buffer.from("hello") })
      expect(text(posted.bytes)).toBe("hello")
      expect((yield* get("/", { method: "HEAD" })).bytes).toHaveLength(0)
    }),
  )

  it.live.each<readonly [string, string]>([
    ["Host", "evil.example"],
    ["cookie", "a=b"],
    ["Content-Length", "5"],
    ["Transfer-Encoding", "chunked"],
    ["Connection", "upgrade"],
    ["Proxy-Authorization", "Basic eDp5"],
    ["X-Forwarded-For", "127.0.0.1"],
    ["Sec-Fetch-Site", "none"],
    ["user-agent", "other"],
    ["x-a", "b\r\nx-c: d"],
    ["x-a", "\u0000"],
    ["x-a", "ü"],
    ["x a", "b"],
    ["", "b"],
    ["x-a:", "b"],
    ["x-large", "a".repeat(9_000)],
  ])("does not send the header %j", ([name, value]) =>
    Effect.gen(function* () {
      const { get, server } = yield* serving((_, response) => response.end())
      expect(yield* Effect.flip(get("/", { headers: { [name]: value } }))).toMatchObject({ reason: "header" })
      expect(server.asked).toEqual([])
    }),
  )
})
