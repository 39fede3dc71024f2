/** The floor: node:http and nothing else, writing the same frames to every subscriber. */
import { createServer, type ServerResponse } from "node:http"
import { setImmediate as nextTurn } from "node:timers/promises"
import { frameOf } from "#bench/streams/delta.ts"

const subscribers = new Set<ServerResponse>()

const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.flushHeaders()
  subscribers.add(response)
  response.on("close", () => subscribers.delete(response))
})

/** Each event to each subscriber, with a turn of the event loop in between so that the sockets are served. */
const flood = async (count: number): Promise<void> => {
  for (let sequence = 1; sequence <= count; sequence++) {
    const frame = Buffer.from(frameOf(sequence))
    for (const subscriber of subscribers) subscriber.write(frame)
    await nextTurn()
  }
}

process.on("message", async ({ count }: { count: number }) => {
  await flood(count)
  process.send?.({ answer: null })
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.send?.({ port: typeof address === "object" ? address?.port : 0 })
})
