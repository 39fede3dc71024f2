import { type AddressInfo, connect, createServer } from "node:net"
import { it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import { describe, expect } from "vitest"
import { access, type Route, reply } from "#core/route.ts"
import { makeLifecycle } from "#gateway/lifecycle.ts"
import { type ListenOptions, listen } from "#gateway/server.ts"
import { keys, testGateway } from "#test/support/gateway.ts"

const route = (method: Route["method"], path: string, handle: Route["handle"], extra: Partial<Route> = {}): Route => ({
  method,
  path,
  access: access.authenticated,
  summary: path,
  tag: "Test",
  answer: Schema.Unknown,
  handle,
  ...extra,
})

const echo = route("POST", "/api/echo", ({ body }) => Effect.succeed({ body }), {
  body: Schema.Unknown,
  bodyLimit: 1_000,
})
const hello = route("GET", "/api/hello", () => Effect.succeed({ hello: "world" }))
const health = route("GET", "/health", () => Effect.succeed({ status: "ok" }), { access: access.public, vital: true })
const stream = route("GET", "/api/stream", () =>
  Effect.succeed(
    reply.socket(({ outgoing }) => {
      outgoing.writeHead(200, { "content-type": "text/event-stream" })
      outgoing.end("data: 1\n\n")
    }),
  ),
)

const started = (
  routes: ReadonlyArray<Route> = [echo, hello, health, stream],
  server: Partial<ListenOptions["server"]> = {},
  extra: Partial<ListenOptions> = {},
) =>
  Effect.gen(function* () {
    const lifecycle = makeLifecycle("serving")
    const app = yield* testGateway(routes, { lifecycle })
    return yield* listen(app, {
      server: { Host: "127.0.0.1", Port: 0, AllowedHosts: [], ShutdownSeconds: 5, ...server },
      lifecycle,
      ...extra,
    })
  })

/** Writes `text` as it is and gives everything that comes back until the server closes the connection. */
const raw = (port: number, text: string | Uint8Array): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const socket = connect(port, "127.0.0.1")
    let received = ""
    socket.setEncoding("utf8")
    socket.on("data", (chunk) => {
      received += chunk
    })
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed(received)))
    socket.write(text)
    return Effect.sync(() => socket.destroy())
  })

const bearer = `Authorization: Bearer ${keys.owner}`
const head = (...lines: ReadonlyArray<string>) => `${lines.join("\r\n")}\r\n\r\n`
const close = "Connection: close"

/** `400 bad_request`, from the bytes of an answer. */
const told = (answer: string): string => {
  const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? "no answer"
  const error = /"error":"(\w+)"/.exec(answer)?.[1]
  return error === undefined ? status : `${status} ${error}`
}

const framing: ReadonlyArray<readonly [what: string, sent: string, expected: string]> = [
  ["a plain request", head("GET /api/hello HTTP/1.1", "Host: x", bearer, close), "200"],
  ["no Host", head("GET /api/hello HTTP/1.1", bearer, close), "400 bad_request"],
  ["two Hosts", head("GET /api/hello HTTP/1.1", "Host: a", "Host: b", bearer, close), "400 bad_request"],
  ["the same Host twice", head("GET /api/hello HTTP/1.1", "Host: a", "host: a", bearer, close), "400 bad_request"],
  ["an empty Host", head("GET /api/hello HTTP/1.1", "Host:", bearer, close), "400 bad_request"],
  ["a Host with a path", head("GET /api/hello HTTP/1.1", "Host: a/b", bearer, close), "400 bad_request"],
  ["a Host with a user", head("GET /api/hello HTTP/1.1", "Host: u@a", bearer, close), "400 bad_request"],
  [
    "a Host with a port that is none",
    head("GET /api/hello HTTP/1.1", "Host: a:99999", bearer, close),
    "400 bad_request",
  ],
  ["a Host that is IPv6", head("GET /api/hello HTTP/1.1", "Host: [::1]:5000", bearer, close), "200"],
  ["absolute form", head("GET http://a/api/hello HTTP/1.1", "Host: a", bearer, close), "400 bad_request"],
  ["asterisk form", head("OPTIONS * HTTP/1.1", "Host: a", close), "400 bad_request"],
  ["a backslash in the path", head("GET /api\\hello HTTP/1.1", "Host: a", bearer, close), "400 bad_request"],
  ["a quote in the path", head('GET /api/"hello HTTP/1.1', "Host: a", bearer, close), "400 bad_request"],
  ["a fragment", head("GET /api/hello#x HTTP/1.1", "Host: a", bearer, close), "400 bad_request"],
  ["dot segments", head("GET /api/x/../hello HTTP/1.1", "Host: a", bearer, close), "400 invalid_request"],
  ["dot segments, encoded", head("GET /api/x/%2e%2E/hello HTTP/1.1", "Host: a", bearer, close), "400 invalid_request"],
  ["a dot segment", head("GET /api/./hello HTTP/1.1", "Host: a", bearer, close), "400 invalid_request"],
  ["dot segments of a stranger", head("GET /api/x/../hello HTTP/1.1", "Host: a", close), "401 unauthorized"],
  [
    "a public path reached by dot segments",
    head("GET /health/../api/hello HTTP/1.1", "Host: a", close),
    "400 invalid_request",
  ],
  ["two slashes", head("GET //api/hello HTTP/1.1", "Host: a", bearer, close), "400 invalid_request"],
  ["TRACE", head("TRACE /api/hello HTTP/1.1", "Host: a", bearer, close), "405 method_not_allowed"],
  ["CONNECT", head("CONNECT a:443 HTTP/1.1", "Host: a", close), "405 method_not_allowed"],
  ["a method that is no method", head("BREW /api/hello HTTP/1.1", "Host: a", close), "400 bad_request"],
  ["a long target", head(`GET /api/hello?${"x".repeat(8_200)} HTTP/1.1`, "Host: a", bearer, close), "414 uri_too_long"],
  [
    "long headers",
    head("GET /api/hello HTTP/1.1", "Host: a", `X: ${"x".repeat(17_000)}`, close),
    "431 headers_too_large",
  ],
  [
    "many headers",
    head("GET /api/hello HTTP/1.1", "Host: a", ...Array.from({ length: 100 }, (_, i) => `X${i}: 1`), close),
    "431 headers_too_large",
  ],
  [
    "a length and chunks",
    `${head("POST /api/echo HTTP/1.1", "Host: a", "Content-Length: 3", "Transfer-Encoding: chunked", close)}0\r\n\r\n`,
    "400 bad_request",
  ],
  [
    "two lengths",
    `${head("POST /api/echo HTTP/1.1", "Host: a", "Content-Length: 3", "Content-Length: 4", close)}{}  `,
    "400 bad_request",
  ],
  [
    "a length that is no number",
    `${head("POST /api/echo HTTP/1.1", "Host: a", "Content-Length: -1", close)}`,
    "400 bad_request",
  ],
  ["a space before the colon", head("GET /api/hello HTTP/1.1", "Host : a", close), "400 bad_request"],
  ["a folded header", head("GET /api/hello HTTP/1.1", "Host: a", "X: 1", " folded", close), "400 bad_request"],
  ["bare line feeds", "GET /api/hello HTTP/1.1\nHost: a\n\n", "400 bad_request"],
  ["no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00", "400 bad_request"],
  ["two Authorization headers", head("GET /api/hello HTTP/1.1", "Host: a", bearer, bearer, close), "401 unauthorized"],
  [
    "an expectation",
    head("POST /api/echo HTTP/1.1", "Host: a", "Expect: magic", "Content-Length: 0", close),
    "400 bad_request",
  ],
  [
    "a body in one piece",
    `${head("POST /api/echo HTTP/1.1", "Host: a", bearer, "Content-Type: application/json", "Content-Length: 7", close)}{"a":1}`,
    "200",
  ],
  [
    "a body in chunks",
    `${head("POST /api/echo HTTP/1.1", "Host: a", bearer, "Content-Type: application/json", "Transfer-Encoding: chunked", close)}7\r\n{"a":1}\r\n0\r\n\r\n`,
    "200",
  ],
  [
    "a body in chunks that is too large",
    `${head("POST /api/echo HTTP/1.1", "Host: a", bearer, "Content-Type: application/json", "Transfer-Encoding: chunked")}7d0\r\n${"x".repeat(2_000)}\r\n0\r\n\r\n`,
    "413 payload_too_large",
  ],
  [
    "a length that is too large, before a byte of the body",
    head("POST /api/echo HTTP/1.1", "Host: a", bearer, "Content-Type: application/json", "Content-Length: 2000000"),
    "413 payload_too_large",
  ],
]

describe("on the wire", () => {
  it.live.each(framing)("%s", ([, sent, expected]) =>
    Effect.gen(function* () {
      const { port } = yield* started()
      const answer = yield* raw(port, sent)
      expect(told(answer)).toBe(expected)
      if (!answer.startsWith("HTTP/1.1 200")) expect(answer.toLowerCase()).toContain("x-content-type-options: nosniff")
    }),
  )

  it.live("answers only for the hosts that are allowed, with any port", () =>
    Effect.gen(function* () {
      const { port } = yield* started([hello], { AllowedHosts: ["svc.example.com", "::1"] })
      const asked = (host: string) =>
        Effect.map(raw(port, head("GET /api/hello HTTP/1.1", `Host: ${host}`, bearer, close)), told)
      expect(yield* asked("svc.example.com")).toBe("200")
      expect(yield* asked("SVC.example.com:8080")).toBe("200")
      expect(yield* asked("[::1]:8080")).toBe("200")
      expect(yield* asked("evil.example.com")).toBe("421 misdirected_request")
      expect(yield* asked("svc.example.com.evil.com")).toBe("421 misdirected_request")
    }),
  )

  it.live("keeps the connection after a refusal that left nothing unread", () =>
    Effect.gen(function* () {
      const { port } = yield* started()
      const answer = yield* raw(
        port,
        head("GET /api/nothing HTTP/1.1", "Host: a", bearer) +
          head("GET /api/hello HTTP/1.1", "Host: a", bearer, close),
      )
      expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 404", "HTTP/1.1 200"])
    }),
  )

  it.live.each([
    ["headers", "GET /health HTTP/1.1\r\nHost: a\r\nX: "],
    ["the first line", "GET /hea"],
    [
      "a body",
      head("POST /api/echo HTTP/1.1", "Host: a", bearer, "Content-Type: application/json", "Content-Length: 9"),
    ],
  ] as const)("gives up a client that does not finish sending %s", ([, sent]) =>
    Effect.gen(function* () {
      const patience = { headersTimeout: 40, requestTimeout: 60, connectionsCheckingInterval: 10 }
      const { port } = yield* started(undefined, {}, { patience })
      expect(told(yield* raw(port, sent))).toBe("408 request_timeout")
    }),
  )

  it.live("hands the socket to a route that writes to it, with the headers of every answer", () =>
    Effect.gen(function* () {
      const { port } = yield* started()
      const answer = (yield* raw(
        port,
        head("GET /api/stream HTTP/1.1", "Host: a", bearer, "X-Request-Id: r1", close),
      )).toLowerCase()
      expect(answer).toContain("content-type: text/event-stream")
      expect(answer).toContain("x-request-id: r1")
      expect(answer).toContain("x-content-type-options: nosniff")
      expect(answer).toContain("data: 1\n\n")
    }),
  )

  it.live("interrupts the handler of a client that hangs up", () =>
    Effect.gen(function* () {
      const entered = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      const waiting = route("GET", "/api/wait", () =>
        Deferred.succeed(entered, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(stopped, undefined)),
        ),
      )
      const { port } = yield* started([waiting])
      const asking = yield* Effect.forkChild(raw(port, head("GET /api/wait HTTP/1.1", "Host: a", bearer)))
      yield* Deferred.await(entered)
      yield* Fiber.interrupt(asking)
      yield* Deferred.await(stopped)
    }),
  )
})

describe("listening", () => {
  it.live("says which port is taken and what to do", () =>
    Effect.gen(function* () {
      const taken = yield* Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createServer>>((resume) => {
          const server = createServer().listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close()),
      )
      // listening on TCP, so its address is one
      const { port } = taken.address() as AddressInfo
      const failure = yield* Effect.flip(started([hello], { Port: port }))
      expect(failure).toMatchObject({ _tag: "CannotListen", reason: "EADDRINUSE", port })
      expect(failure.message).toContain("Server:Port")
    }),
  )

  it.live("says that a host is not of this machine", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(started([hello], { Host: "192.0.2.1" }))
      expect(failure).toMatchObject({ reason: "EADDRNOTAVAIL" })
    }),
  )
})

describe("stopping", () => {
  const gate = Effect.gen(function* () {
    const entered = yield* Deferred.make<void>()
    const leave = yield* Deferred.make<void>()
    const waiting = route("GET", "/api/wait", () =>
      Deferred.succeed(entered, undefined).pipe(Effect.andThen(Deferred.await(leave)), Effect.as({ done: true })),
    )
    return { entered, leave, waiting }
  })

  it.live("lets requests inside end, and runs the hooks first", () =>
    Effect.gen(function* () {
      const { entered, leave, waiting } = yield* gate
      const { port, close: stop } = yield* started(
        [waiting],
        {},
        {
          onDrain: [Deferred.succeed(leave, undefined).pipe(Effect.asVoid)],
        },
      )
      const asking = yield* Effect.forkChild(raw(port, head("GET /api/wait HTTP/1.1", "Host: a", bearer)))
      yield* Deferred.await(entered)
      yield* stop
      const answer = yield* Fiber.join(asking)
      expect(answer).toContain('{"done":true}')
      expect(answer.toLowerCase()).toContain("connection: close")
      expect(yield* raw(port, head("GET /api/wait HTTP/1.1", "Host: a", bearer))).toBe("")
    }),
  )

  it.live("cuts what does not end in time", () =>
    Effect.gen(function* () {
      const { entered, waiting } = yield* gate
      const { port, close: stop } = yield* started([waiting], { ShutdownSeconds: 0 })
      const asking = yield* Effect.forkChild(raw(port, head("GET /api/wait HTTP/1.1", "Host: a", bearer)))
      yield* Deferred.await(entered)
      yield* stop
      expect(yield* Fiber.join(asking)).toBe("")
    }),
  )

  it.live("does not wait for connections that are idle", () =>
    Effect.gen(function* () {
      const { port, close: stop } = yield* started()
      const idle = yield* Effect.forkChild(raw(port, head("GET /health HTTP/1.1", "Host: a")))
      // the second request is answered, so the first one's connection is idle by then
      yield* raw(port, head("GET /health HTTP/1.1", "Host: a", close))
      yield* stop
      expect(told(yield* Fiber.join(idle))).toBe("200")
    }),
  )
})
