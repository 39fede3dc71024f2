/** An agent asks people something, as its turn would. */
import { Duration, Effect } from "effect"
import { newId } from "#core/ids.ts"
import { RunWaits } from "#core/run/waits.ts"

/** `look` gives what is known of the answer. */
export const askedQuestion = Effect.fnUntraced(function* (runId: string, question: string) {
  const waits = yield* RunWaits
  const look = waits.answerTo({ runId, callId: newId(), patience: Duration.minutes(5), question })
  const asked = yield* look
  if (asked._tag !== "Waits") return yield* Effect.die("it was answered before it was asked")
  return { requestId: asked.requestId, look }
})
