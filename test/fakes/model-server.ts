/** A real HTTP server in the place of a provider of models: what it answers is a function of the request. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"

export interface ModelCallReceived {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any
  /** How the exchange ended: answered to the end, or given up by the client. */
  readonly ended: Promise<"answered" | "given up">
}

/** What goes over the wire. */
export interface WireAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Each is written by itself. */
  readonly chunks: ReadonlyArray<string>
  /** After the chunks: `end` ends well, `cut` breaks the connection, `hang` stays silent. */
  readonly ending?: "end" | "cut" | "hang"
  /** The end waits for this, so that a test knows what was read before it. */
  readonly endsAfter?: Promise<unknown> | undefined
}

export interface ModelServer {
  /** Without a path. */
  readonly origin: string
  readonly requests: ReadonlyArray<ModelCallReceived>
}

export const startModelServer = (
  answer: (request: ModelCallReceived, index: number) => WireAnswer,
): Effect.Effect<ModelServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests: Array<ModelCallReceived> = []
    const server = createServer((incoming, outgoing) => {
      void receive(incoming, outgoing).then((request) => {
        requests.push(request)
        return send(outgoing, answer(request, requests.length - 1))
      })
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        }),
    )
    // a server that listens on an address of its own has a port
    const { port } = server.address() as AddressInfo
    return { origin: `http://127.0.0.1:${port}`, requests }
  })

const receive = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<ModelCallReceived> => {
  const ended = new Promise<"answered" | "given up">((resolve) => {
    outgoing.once("close", () => resolve(outgoing.writableFinished ? "answered" : "given up"))
  })
  const chunks: Array<Buffer> = []
  for await (const chunk of incoming) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  return {
    method: incoming.method ?? "",
    path: incoming.url ?? "",
    headers: incoming.headers,
    body: text === "" ? undefined : JSON.parse(text),
    ended,
  }
}

const send = async (
  outgoing: ServerResponse,
  { status = 200, headers, chunks, ending = "end", endsAfter }: WireAnswer,
) => {
  outgoing.writeHead(status, { "content-type": "text/event-stream", ...headers })
  outgoing.flushHeaders()
  for (const chunk of chunks) {
    await new Promise((written) => outgoing.write(chunk, written))
  }
  await endsAfter
  if (ending === "end") outgoing.end()
  if (ending === "cut") outgoing.destroy()
}

/** An answer that is no stream. */
export const jsonAnswer = (
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): WireAnswer => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  chunks: [typeof body === "string" ? body : JSON.stringify(body)],
})
