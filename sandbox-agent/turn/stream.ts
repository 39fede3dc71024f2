/** One answer of the model, as it arrives: told in pieces, and collected. */
import { Clock, Effect, Stream } from "effect"
import { type ModelCall, ModelFailed, type ModelPart, type ModelRequest } from "#core/wire/model.ts"
import type { TurnWorld } from "#core/wire/turn.ts"
import { makeVisibleText } from "#sandbox-agent/turn/visible-text.ts"

/** Milliseconds between two pieces, at least: 20 a second. */
const pieceMillis = 50
/** Characters that are not held back any longer. */
const enough = 2_048
/** Every piece costs a look at all that was said: after so many characters both of these have doubled. */
const slower = 20_000
/** Characters and calls of one answer: more than any model writes that still makes sense. */
const maxText = 1_048_576
const maxCalls = 256

export interface Answer {
  /** Clean. */
  readonly text: string
  /** As the model wrote them. */
  readonly calls: ReadonlyArray<ModelCall>
  readonly finish: Extract<ModelPart, { kind: "finish" }>
}

export const listen = Effect.fnUntraced(function* (world: TurnWorld, request: ModelRequest, messageId: string) {
  const text = makeVisibleText(world.redact)
  const calls: Array<ModelCall> = []
  let finish: Answer["finish"] | undefined
  let waiting = ""
  let received = 0
  let last = Number.NEGATIVE_INFINITY
  const tellPiece = (delta: string) =>
    delta === "" ? Effect.void : world.emit([{ type: "agent.message.delta", payload: { delta, messageId } }])

  yield* Stream.runForEach(world.model(request), (part) =>
    Effect.gen(function* () {
      switch (part.kind) {
        case "text": {
          waiting += part.delta
          received += part.delta.length
          if (received > maxText) return yield* tooLarge(`more than ${maxText} characters`)
          const now = yield* Clock.currentTimeMillis
          const pace = 1 + received / slower
          if (now - last < pieceMillis * pace && waiting.length < enough * pace) return
          const piece = text.add(waiting)
          waiting = ""
          last = now
          return yield* tellPiece(piece)
        }
        case "call":
          calls.push(part.call)
          if (calls.length > maxCalls) return yield* tooLarge(`more than ${maxCalls} calls`)
          return
        case "finish":
          finish = part
          return
      }
    }),
  )
  const piece = text.add(waiting) + text.end()
  yield* tellPiece(piece)
  if (finish === undefined) {
    return yield* new ModelFailed({
      kind: "ProviderUnavailable",
      message: "The answer of the model broke off.",
      retryable: true,
    })
  }
  return { text: text.whole(), calls, finish } satisfies Answer as Answer
})

const tooLarge = (what: string): ModelFailed =>
  new ModelFailed({
    kind: "ProviderUnavailable",
    message: `The answer of the model was given up: it has ${what}.`,
    retryable: false,
  })

export const usageEvent = ({ usage, modelId }: Answer["finish"]) => ({
  type: "agent.turn.usage",
  payload: {
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    totalTokens: usage.totalTokens,
    totalNanoAiu: usage.totalNanoAiu,
    modelId,
  },
})

export const refusedByFilter = (): ModelFailed =>
  new ModelFailed({ kind: "Refused", message: "The provider's content filter stopped the answer.", retryable: false })
