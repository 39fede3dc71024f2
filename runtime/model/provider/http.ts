/**
 * HTTP to providers. Redirects are not followed, since a credential would go along; an answer may not be larger
 * than `maxAnswer`. How long an answer may take is bounded where it is read. undici is loaded with the first
 * request.
 */
import { Effect, type Scope } from "effect"
import { refuseOthers } from "#runtime/model/provider/no-stream.ts"

/** Bytes of one answer, decompressed. */
const maxAnswer = 67_108_864
/** Milliseconds until a connection is there. */
const connectTimeout = 15_000

export type Fetch = typeof globalThis.fetch

/** Connections are kept for the next request, and closed with the scope. */
export const makeFetch: Effect.Effect<() => Promise<Fetch>, never, Scope.Scope> = Effect.gen(function* () {
  let opened: ReturnType<typeof open> | undefined
  yield* Effect.addFinalizer(() =>
    Effect.promise(async () => {
      await (await opened)?.agent.destroy()
    }),
  )
  return async () => {
    opened ??= open()
    return (await opened).fetch
  }
})

const open = async () => {
  const undici = await import("undici")
  // the waits of undici itself would end a model that thinks for long
  const agent = new undici.Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: connectTimeout } })
  const send: Fetch = async (input, init) => {
    const answer = await undici.fetch(String(input), {
      method: init?.method ?? "GET",
      // the packages send JSON texts only
      ...(typeof init?.body === "string" ? { body: init.body } : {}),
      ...(init?.signal == null ? {} : { signal: init.signal }),
      headers: withoutEmptyCredentials(init?.headers),
      redirect: "manual",
      dispatcher: agent,
    })
    const { status, statusText } = answer
    const response = new Response(answer.body?.pipeThrough(bounded()) ?? null, {
      status,
      statusText,
      headers: [...answer.headers],
    })
    // what is sent asks for a stream; what is only looked at is a list
    return init?.method === "POST" ? refuseOthers(response) : response
  }
  return { agent, fetch: send }
}

/** A provider without a key is given an empty one by its package, and would say that it is wrong. */
const withoutEmptyCredentials = (sent: ConstructorParameters<typeof Headers>[0]): Array<[string, string]> =>
  [...new Headers(sent)].filter(([, value]) => value.trim() !== "" && value.trim().toLowerCase() !== "bearer")

export class AnswerTooLarge extends Error {
  override readonly name = "AnswerTooLarge"
}

const bounded = (): TransformStream<Uint8Array, Uint8Array> => {
  let bytes = 0
  return new TransformStream({
    transform: (chunk, controller) => {
      bytes += chunk.byteLength
      if (bytes > maxAnswer) controller.error(new AnswerTooLarge(`The answer is larger than ${maxAnswer} bytes`))
      else controller.enqueue(chunk)
    },
  })
}
