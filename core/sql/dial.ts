/** The socket of a connection: made within a time, and a second one to cancel a statement with. */
import { connect, type Socket } from "node:net"

/** As the driver resolves it. A path is that of a unix socket. */
export interface Address {
  readonly path?: string | false
  readonly host: ReadonlyArray<string>
  readonly port: ReadonlyArray<number>
}

export interface Dialled {
  readonly socket: Socket
  readonly target: Target
}

type Target = { readonly path: string } | { readonly host: string; readonly port: number }

/** How long a request to cancel may take, in milliseconds. Nobody waits for it. */
const cancelMillis = 2_000

/** Connects to the first address that answers, all within `millis`. */
export const dial = async ({ path, host, port }: Address, millis: number): Promise<Dialled> => {
  const targets: ReadonlyArray<Target> =
    typeof path === "string" ? [{ path }] : host.map((name, i) => ({ host: name, port: port[i] ?? 5432 }))
  let failure: unknown
  for (const target of targets) {
    try {
      return { target, socket: await reach(target, millis / targets.length) }
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

const reach = (target: Target, millis: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ ...target, noDelay: true })
    const late = Object.assign(new Error("The database did not answer."), { code: "CONNECT_TIMEOUT" })
    const timer = setTimeout(() => socket.destroy(late), millis)
    const settled = () => {
      clearTimeout(timer)
      socket.off("error", failed)
    }
    const failed = (error: Error) => {
      settled()
      reject(error)
    }
    socket.once("error", failed)
    socket.once("connect", () => {
      settled()
      // the driver asks for its host to check a certificate against
      if ("host" in target) Object.assign(socket, target)
      resolve(socket)
    })
  })

/**
 * Asks the server to stop what the backend does that runs `query`. Best effort, unanswered and in the
 * clear (it carries a number that is good for this only), as the protocol has it.
 */
export const cancelBackend = ({ target }: Dialled, query: object): void => {
  const key: unknown = Reflect.get(query, "state")
  if (typeof key !== "object" || key === null) return
  const pid: unknown = Reflect.get(key, "pid")
  const secret: unknown = Reflect.get(key, "secret")
  if (typeof pid !== "number" || typeof secret !== "number") return
  const request = Buffer.alloc(16)
  request.writeUInt32BE(16, 0)
  request.writeUInt32BE(80_877_102, 4)
  request.writeUInt32BE(pid, 8)
  request.writeUInt32BE(secret, 12)
  const socket = connect(target, () => socket.end(request))
  socket.on("error", () => socket.destroy())
  socket.setTimeout(cancelMillis, () => socket.destroy())
  socket.unref()
}
