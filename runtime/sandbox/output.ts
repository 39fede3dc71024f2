/** The output of a command: passed on as it comes, up to a number of bytes; the rest is read and dropped. */
import type { Readable } from "node:stream"
import { Effect } from "effect"
import type { Execution } from "#core/ports/sandbox.ts"

export interface Output {
  /** Reads a stream to its end. While a chunk is taken in, nothing more is read: the command waits. */
  readonly pass: (name: "stdout" | "stderr", stream: Readable) => Effect.Effect<void>
  readonly isTruncated: () => boolean
}

export const outputTo = ({ maxOutputBytes, onOutput }: Pick<Execution, "maxOutputBytes" | "onOutput">): Output => {
  let left = maxOutputBytes
  let truncated = false
  return {
    pass: (name, stream) =>
      Effect.gen(function* () {
        const next = chunksOf(stream)
        for (let chunk = yield* next; chunk !== undefined; chunk = yield* next) {
          const passed = chunk.subarray(0, left)
          left -= passed.length
          truncated ||= passed.length < chunk.length
          if (passed.length > 0) yield* onOutput(name, passed)
        }
      }),
    isTruncated: () => truncated,
  }
}

/** What comes next in a stream; undefined at its end, also where that is early. Nothing is read before it is asked for. */
export const chunksOf = (stream: Readable): Effect.Effect<Uint8Array | undefined> => {
  const chunks = stream.iterator({ destroyOnReturn: false })
  return Effect.promise(() =>
    chunks.next().then(
      ({ done, value }): Uint8Array | undefined => (done === true ? undefined : value),
      () => undefined,
    ),
  )
}
