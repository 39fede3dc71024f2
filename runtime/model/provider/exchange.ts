/**
 * One try of one exchange: the request is sent when the stream begins, and aborted when it is not read to its
 * end. It fails where nothing comes for a while, where all together takes too long, and where the answer ends
 * without saying why.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { Clock, Duration, Effect, Stream } from "effect"
import type { ModelPart, ModelRequest } from "#core/wire/model.ts"
import { type AttemptFailed, brokenStream, faultOf, silent, tooSlow } from "#runtime/model/provider/failure.ts"
import { emptyAnswer, step } from "#runtime/model/provider/parts.ts"
import { callOptions } from "#runtime/model/provider/prompt.ts"
import type { ProviderType } from "#runtime/model/provider/provider.ts"

/** No answer takes longer that is still worth waiting for. */
const longestExchange = Duration.minutes(60)

export interface ExchangeSpec {
  readonly open: () => Promise<LanguageModelV4>
  readonly type: ProviderType
  /** Of the provider, for messages. */
  readonly name: string
  readonly outputTokens: number
  readonly idle: Duration.Duration
}

export const exchange = (spec: ExchangeSpec, request: ModelRequest): Stream.Stream<ModelPart, AttemptFailed> =>
  Stream.unwrap(begin(spec, request)).pipe(
    Stream.interruptWhen(Effect.andThen(Effect.sleep(longestExchange), Effect.fail(tooSlow(spec.name)))),
  )

const begin = Effect.fnUntraced(function* (
  { open, type, name, outputTokens, idle }: ExchangeSpec,
  request: ModelRequest,
) {
  const clock = yield* Clock.Clock
  const startedAt = clock.currentTimeMillisUnsafe()
  const fault = (error: unknown) => faultOf(name, error, clock.currentTimeMillisUnsafe())
  const abort = yield* Effect.acquireRelease(
    Effect.sync(() => new AbortController()),
    (controller) => Effect.sync(() => controller.abort()),
  )
  const model = yield* Effect.tryPromise({ try: open, catch: fault })
  const { stream } = yield* Effect.tryPromise({
    try: async () => {
      const options = callOptions(request, { type, packageName: model.provider, outputTokens })
      return model.doStream({ ...options, abortSignal: abort.signal })
    },
    catch: fault,
  }).pipe(Effect.timeoutOrElse({ duration: idle, orElse: () => Effect.fail(silent(name)) }))
  let ended = false
  const parts = Stream.fromReadableStream({ evaluate: () => stream, onError: fault }).pipe(
    Stream.timeoutOrElse({ duration: idle, orElse: () => Stream.fail(silent(name)) }),
    Stream.mapAccumEffect(
      () => emptyAnswer,
      (answer, part) => {
        const elapsed = clock.currentTimeMillisUnsafe() - startedAt
        const next = step(answer, part, elapsed, model.provider)
        switch (next._tag) {
          case "Parts":
            ended ||= next.parts.some(({ kind }) => kind === "finish")
            return Effect.succeed([next.answer, next.parts] as const)
          case "Failed":
            return Effect.fail(fault(next.error))
          case "Broken":
            return Effect.fail(brokenStream(name))
        }
      },
    ),
  )
  const orBroken = Stream.suspend(() => (ended ? Stream.empty : Stream.fail(brokenStream(name))))
  return Stream.concat(parts, orBroken)
})
