/** Many subscribers in one process: raw sockets, so that the client costs little beside the server. */
import { connect, type Socket } from "node:net"

const now = (): number => performance.timeOrigin + performance.now()

interface Subscribe {
  readonly do: "subscribe"
  readonly port: number
  readonly path: string
  readonly key: string
  readonly count: number
}
/** Answers the arrival of every sequence at every subscriber, once the last one has come everywhere. */
interface Collect {
  readonly do: "collect"
  readonly last: number
}
type Command = Subscribe | Collect | { readonly do: "close" }

let sockets: Array<Socket> = []

/** What one subscriber has got: up to which sequence, by when. Cheap, so that the client does not measure itself. */
interface Arrived {
  last: number
  readonly times: Array<[sequence: number, at: number]>
}
let arrivals: Array<Arrived> = []
let onArrival = () => {}

const note = (arrived: Arrived, chunk: Buffer): void => {
  const found = chunk.lastIndexOf("\nid: ")
  if (found < 0) return
  const last = Number.parseInt(chunk.toString("latin1", found + 5, found + 21), 10)
  const at = now()
  for (let sequence = arrived.last + 1; sequence <= last; sequence++) arrived.times.push([sequence, at])
  arrived.last = last
  onArrival()
}

const subscribe = ({ port, path, key, count }: Subscribe) => {
  arrivals = Array.from({ length: count }, () => ({ last: 0, times: [] }))
  return Promise.all(
    arrivals.map(
      (arrived) =>
        new Promise<void>((resolve) => {
          const socket = connect(port, "127.0.0.1", () => {
            socket.write(
              `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nLast-Event-ID: 0\r\n\r\n`,
            )
          })
          sockets.push(socket)
          socket.once("data", () => resolve())
          socket.on("data", (chunk) => note(arrived, chunk))
        }),
    ),
  )
}

const collect = ({ last }: Collect) =>
  new Promise<Array<Array<[number, number]>>>((resolve) => {
    onArrival = () => {
      if (arrivals.some((arrived) => arrived.last < last)) return
      onArrival = () => {}
      resolve(arrivals.map((arrived) => arrived.times))
    }
    onArrival()
  })

const close = () => {
  for (const socket of sockets) socket.destroy()
  sockets = []
  arrivals = []
}

process.on("message", async (command: Command) => {
  const answer =
    command.do === "subscribe" ? await subscribe(command) : command.do === "collect" ? await collect(command) : close()
  process.send?.({ answer: Array.isArray(answer) && command.do === "collect" ? answer : null })
})
process.send?.({ port: 0 })
