/** A client of server-sent events that shows the frames as they are on the wire. */
import { type ClientRequest, type IncomingMessage, request } from "node:http"
import { Effect, type Scope } from "effect"

export interface Frame {
  readonly id?: string
  readonly event?: string
  readonly data?: string
  readonly comment?: string
}

export interface SseClient {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly frames: Array<Frame>
  /** Everything that came, byte for byte. */
  readonly text: () => string
  /** Done when `enough` holds, looked at after each chunk; fails when the connection ends before. */
  readonly until: (enough: (frames: ReadonlyArray<Frame>) => boolean) => Promise<void>
  /** Done when the server has ended the response; false where the connection was cut instead. */
  readonly ended: Promise<boolean>
  readonly pause: () => void
  readonly resume: () => void
  readonly close: () => void
}

const frameOf = (block: string): Frame => {
  const frame: Record<string, string> = {}
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":")
    frame[colon === 0 ? "comment" : line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "")
  }
  return frame
}

export const openStream = (
  url: string,
  headers: Record<string, string> = {},
): Effect.Effect<SseClient, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<SseClient>((resolve, reject) => {
          const sent: ClientRequest = request(url, { headers, agent: false }, (response) =>
            resolve(clientOf(sent, response)),
          )
          sent.on("error", reject)
          sent.end()
        }),
    ),
    (client) => Effect.sync(client.close),
  )

const clientOf = (sent: ClientRequest, response: IncomingMessage): SseClient => {
  const frames: Array<Frame> = []
  const waiting = new Set<() => void>()
  let text = ""
  let rest = ""
  let over = false
  response.setEncoding("utf8")
  response.on("data", (chunk: string) => {
    text += chunk
    const blocks = (rest + chunk).split("\n\n")
    rest = blocks.pop() ?? ""
    frames.push(...blocks.map(frameOf))
    for (const look of [...waiting]) look()
  })
  const ended = new Promise<boolean>((resolve) => {
    response.on("close", () => {
      over = true
      resolve(response.complete)
      for (const look of [...waiting]) look()
    })
  })
  sent.on("error", () => {})
  response.on("error", () => {})
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    frames,
    text: () => text,
    until: (enough) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!enough(frames) && !over) return
          waiting.delete(look)
          if (enough(frames)) resolve()
          else reject(new Error(`the stream ended after ${frames.length} frames: ${text.slice(-500)}`))
        }
        waiting.add(look)
        look()
      }),
    ended,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void sent.destroy(),
  }
}
