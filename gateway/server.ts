/**
 * The listening socket. It bounds what a client may take (time for the head, time for the request,
 * bytes of headers), and stops gracefully: no new connections, idle ones closed, streams handed over,
 * the rest given time to end, and cut when the time is up.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { getRequestListener } from "@hono/node-server"
import { Duration, Effect, Fiber, Schema, type Scope } from "effect"
import { refuse } from "#core/refusal.ts"
import type { SettingsValues } from "#core/settings.ts"
import type { Gateway } from "#gateway/app.ts"
import {
  allowedHostsOf,
  framingProblem,
  maxHeaderBytes,
  turnAway,
  turnAwayConnect,
  turnAwaySocket,
} from "#gateway/framing.ts"
import type { Lifecycle } from "#gateway/lifecycle.ts"

/** What a client is given, in milliseconds. */
const patience = {
  /** For the request line and the headers. */
  headersTimeout: 10_000,
  /** For a whole request, its body included. */
  requestTimeout: 30_000,
  /** node:http looks for connections past these limits this often; its own default is 30 s. */
  connectionsCheckingInterval: 5_000,
  /** Longer than the idle time of usual load balancers (60 s), so that they close first. */
  keepAliveTimeout: 65_000,
}
/** Connections that wait to be accepted. */
const backlog = 511

export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", {
  host: Schema.String,
  port: Schema.Int,
  /** Of the operating system: `EADDRINUSE`, `EACCES`, … */
  reason: Schema.String,
  message: Schema.String,
}) {}

export interface ListenOptions {
  readonly server: Pick<SettingsValues["Server"], "Host" | "Port" | "AllowedHosts" | "ShutdownSeconds">
  readonly lifecycle: Lifecycle
  /** Run when the service stops, before connections are waited for: streams end themselves here. */
  readonly onDrain?: ReadonlyArray<Effect.Effect<void>>
  /** Shorter times, for tests. */
  readonly patience?: Partial<typeof patience>
}

export interface Listening {
  /** The port that was asked for, or the one that was found where that was 0. */
  readonly port: number
  /** Stops gracefully; closing the scope does the same. */
  readonly close: Effect.Effect<void>
}

export const listen = Effect.fnUntraced(function* (
  gateway: Pick<Gateway, "fetch">,
  options: ListenOptions,
): Effect.fn.Return<Listening, CannotListen, Scope.Scope> {
  const { Host, Port } = options.server
  const server = httpServer(gateway, options)
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const close = yield* Effect.cached(stop(server, options))
  yield* Effect.acquireRelease(opened(server, Host, Port), () => close)
  server.on("error", (error) => void fork(Effect.logError("The listening socket reports an error", error)))
  const address = server.address()
  return { port: typeof address === "object" && address !== null ? address.port : Port, close }
})

const httpServer = (gateway: Pick<Gateway, "fetch">, options: ListenOptions): Server => {
  const hosts = allowedHostsOf(options.server.AllowedHosts)
  const answer = getRequestListener(gateway.fetch, {
    errorHandler: () => new Response(null, { status: 400 }),
  })
  /** The last answer of each connection: nothing may be written into the middle of it. */
  const answering = new WeakMap<Duplex, ServerResponse>()
  const server = createServer(
    {
      ...patience,
      ...options.patience,
      maxHeaderSize: maxHeaderBytes,
      // counted by framingProblem, with an answer of ours
      requireHostHeader: false,
    },
    (incoming: IncomingMessage, outgoing: ServerResponse) => {
      answering.set(incoming.socket, outgoing)
      const problem = framingProblem(incoming, hosts)
      if (problem === undefined) void answer(incoming, outgoing)
      else turnAway(outgoing, problem)
    },
  )
  server.on("clientError", (error, socket) => {
    const outgoing = answering.get(socket)
    if (outgoing?.headersSent === true && !outgoing.writableFinished) socket.destroy()
    else turnAwaySocket(socket, error)
  })
  server.on("connect", (_, socket) => turnAwayConnect(socket))
  server.on("checkExpectation", (_, outgoing) => turnAway(outgoing, refuse("bad_request")))
  return server
}

const opened = (server: Server, host: string, port: number): Effect.Effect<void, CannotListen> =>
  Effect.callback((resume) => {
    const failed = (error: NodeJS.ErrnoException) => {
      resume(new CannotListen({ host, port, reason: error.code ?? "unknown", message: explain(error, host, port) }))
    }
    server.once("error", failed)
    server.listen({ host, port, backlog }, () => {
      server.off("error", failed)
      resume(Effect.void)
    })
  })

const explain = ({ code, message }: NodeJS.ErrnoException, host: string, port: number): string => {
  switch (code) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is taken by another program. Stop that program, or set PORT (Server:Port) to another port.`
    case "EACCES":
      return `Port ${port} on ${host} may not be opened by this user. Set PORT (Server:Port) to a port above 1023.`
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `${host} is not an address of this machine. Set Server:Host to one, or to 0.0.0.0 for all of them.`
    default:
      return `Cannot listen on ${host}, port ${port}: ${message}`
  }
}

const stop = (server: Server, { lifecycle, onDrain = [], server: { ShutdownSeconds } }: ListenOptions) =>
  Effect.gen(function* () {
    lifecycle.drain()
    if (!server.listening) return
    const ended = yield* Effect.forkChild(closed(server), { startImmediately: true })
    yield* Effect.all(onDrain, { concurrency: "unbounded", discard: true }).pipe(
      Effect.andThen(Fiber.join(ended)),
      Effect.timeoutOption(Duration.seconds(ShutdownSeconds)),
    )
    server.closeAllConnections()
  })

/** Accepts no more, and is done when the last connection has ended. */
const closed = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
  })
