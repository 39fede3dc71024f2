/** A server of a test on this machine, by http or https; what it was asked is kept. Everything of it ends with the test's scope. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http"
import { createServer as createSecureServer } from "node:https"
import { type AddressInfo, isIPv4 } from "node:net"
import { Effect } from "effect"
import type { Certificate } from "#test/support/certificate.ts"

export interface WebServer {
  readonly port: number
  readonly address: "127.0.0.1"
  readonly asked: ReadonlyArray<Pick<IncomingMessage, "method" | "url" | "headers">>
  /** Connections that are open. */
  readonly open: () => number
}

export const webServer = (answer: RequestListener, certificate?: Certificate) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const asked: Array<IncomingMessage> = []
        const listener: RequestListener = (request, response) => {
          asked.push(request)
          answer(request, response)
        }
        const server: Server =
          certificate === undefined ? createServer(listener) : createSecureServer({ ...certificate }, listener)
        let open = 0
        server.on(certificate === undefined ? "connection" : "secureConnection", (socket) => {
          open++
          socket.once("close", () => open--)
        })
        await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
        return { server, asked, open: () => open }
      }),
      ({ server }) =>
        Effect.promise(
          () =>
            new Promise<void>((closed) => {
              server.close(() => closed())
              server.closeAllConnections()
            }),
        ),
    ),
    ({ server, asked, open }): WebServer => {
      const address = server.address() as AddressInfo // it listens on a port
      if (!isIPv4(address.address)) throw new Error("it listens elsewhere")
      return { port: address.port, address: "127.0.0.1", asked, open }
    },
  )
