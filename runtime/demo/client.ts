/** What the demo does as a client of the service: plain HTTP, as anybody could. */
import { Effect, Schema } from "effect"
import { DemoFailed, messageOf } from "#runtime/demo/failed.ts"
import { followStream, type Seen } from "#runtime/demo/stream.ts"

export interface Client {
  readonly get: <A>(path: string, answer: Schema.Codec<A, unknown>) => Effect.Effect<A, DemoFailed>
  readonly post: <A>(path: string, body: unknown, answer: Schema.Codec<A, unknown>) => Effect.Effect<A, DemoFailed>
  /** Tells `onEvent` the run's events in their order, from the first; ends where the service says that it is done. */
  readonly follow: (runId: string, onEvent: (event: Seen) => void) => Effect.Effect<void, DemoFailed>
}

export const makeClient = ({ port, key }: { readonly port: number; readonly key: string }): Client => {
  const base = `http://127.0.0.1:${port}`
  const authorization = `Bearer ${key}`
  const failed = (method: string, path: string, problem: string) =>
    new DemoFailed({ message: `${method} ${path} was not answered as expected: ${problem}` })

  const call = Effect.fnUntraced(function* <A>(
    method: "GET" | "POST",
    path: string,
    answer: Schema.Codec<A, unknown>,
    body?: unknown,
  ) {
    const { status, text } = yield* Effect.tryPromise({
      try: async (signal) => {
        const json = { "content-type": "application/json" }
        const response = await fetch(base + path, {
          method,
          signal,
          headers: { authorization, ...(body === undefined ? {} : json) },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        return { status: response.status, text: await response.text() }
      },
      catch: (cause) => failed(method, path, messageOf(cause)),
    })
    if (status >= 400) return yield* failed(method, path, `${status} ${text.slice(0, 500)}`)
    return yield* Schema.decodeEffect(Schema.fromJsonString(answer))(text).pipe(
      Effect.mapError(({ message }) => failed(method, path, message)),
    )
  })

  return {
    get: (path, answer) => call("GET", path, answer),
    post: (path, body, answer) => call("POST", path, answer, body),
    follow: (runId, onEvent) => {
      const path = `/api/runs/${runId}/stream`
      return Effect.tryPromise({
        try: (signal) => followStream({ url: base + path, authorization, signal, onEvent }),
        catch: (cause) => failed("GET", path, messageOf(cause)),
      })
    },
  }
}
