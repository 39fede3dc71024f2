/** One question to a model, without tools: its answer as text, and what was used for it as an event. */
import { Effect, Stream } from "effect"
import type { NewEvent } from "#core/event.ts"
import { Models } from "#core/ports/models.ts"
import { TurnUsage } from "#core/run/events/turn.ts"
import type { ModelFailed, ModelPart } from "#core/wire/model.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { WorldFailed } from "#runtime/coordinator/world.ts"

export interface Question {
  readonly purpose: "outcome_spec" | "decompose" | "rai" | "rubberduck" | "autopilot"
  readonly agentName: string
  /** Null: the model of the run. */
  readonly modelId: string | null
  readonly system: string
  readonly text: string
  /** Counts the questions of this purpose in this run, from 0. */
  readonly step: number
}

export interface Reply {
  readonly text: string
  /** The provider's own filter cut it off. */
  readonly filtered: boolean
  readonly usage: ReadonlyArray<NewEvent>
}

export const askModel = Effect.fn("coordinator.askModel")(function* (
  { run }: Pick<CoordinatorState, "run">,
  { purpose, agentName, modelId, system, text, step }: Question,
) {
  const models = yield* Models
  const parts: ReadonlyArray<ModelPart> = yield* Stream.runCollect(
    models.stream({
      source: run.modelSource,
      modelId: modelId ?? run.modelId,
      system,
      messages: [{ role: "user", text }],
      tools: [],
      labels: { runId: run.runId, projectId: run.projectId, agentName, purpose, step },
    }),
  )
  const end = parts.find((part) => part.kind === "finish")
  return {
    text: parts.map((part) => (part.kind === "text" ? part.delta : "")).join(""),
    filtered: end?.reason === "content_filter",
    usage: end === undefined ? [] : [TurnUsage.of({ ...end.usage, modelId: end.modelId })],
  } satisfies Reply
})

export const modelFailed = ({ kind, message, retryable }: ModelFailed): WorldFailed =>
  new WorldFailed({ reason: kind, message, retryable })
