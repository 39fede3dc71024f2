/**
 * Where a stream's bytes go. Frames that many subscribers get are encoded once, as a chunk of HTTP/1.1
 * (RFC 9112, 7.1), and the same buffer is written straight to each socket: that takes half the time
 * of `ServerResponse.write`, which builds the chunk again for each.
 */
import type { ServerResponse } from "node:http"
import type { Writable } from "node:stream"
import { Effect } from "effect"

export interface Encoded {
  readonly frames: Buffer
  readonly chunk: Buffer
}

export const encodeFrames = (text: string): Encoded => {
  const frames = Buffer.from(text)
  const chunk = Buffer.concat([Buffer.from(`${frames.length.toString(16)}\r\n`), frames, Buffer.from("\r\n")])
  return { frames, chunk }
}

export interface Outlet {
  readonly write: (text: string) => void
  readonly writeEncoded: (encoded: Encoded) => void
  /** Bytes that the client has not taken yet. */
  readonly unsent: () => number
  /** Done when the socket can take more again. */
  readonly drained: Effect.Effect<void>
}

/** The head of the response must be on its way. */
export const makeOutlet = (outgoing: ServerResponse): Outlet => {
  // a response that waits for another one on its connection has no socket yet; one for HTTP/1.0 has no chunks
  const socket = outgoing.chunkedEncoding ? outgoing.socket : null
  const drains: Writable = socket ?? outgoing
  return {
    write: (text) => void outgoing.write(text),
    writeEncoded: ({ frames, chunk }) => void (socket === null ? outgoing.write(frames) : socket.write(chunk)),
    unsent: () => (socket === null ? outgoing.writableLength : socket.writableLength),
    drained: Effect.callback((resume) => {
      if (!drains.writableNeedDrain || outgoing.destroyed) return resume(Effect.void)
      const onDrain = () => resume(Effect.void)
      drains.once("drain", onDrain)
      return Effect.sync(() => drains.off("drain", onDrain))
    }),
  }
}
