/** `model.choose`: which model works on a subtask? */
import { Schema } from "effect"
import { decideQuestion } from "#core/hook.ts"
import { nullable, runId, text } from "#policies/fields.ts"

const ModelChoiceAsk = Schema.Struct({
  runId,
  projectId: nullable,
  agentName: text,
  subtask: Schema.NullOr(
    Schema.Struct({
      subtaskId: Schema.Int,
      title: text,
      phase: Schema.Literals(["none", "planning", "execution", "validation"]),
      complexity: Schema.Literals(["low", "medium", "high"]),
    }),
  ).annotate({ description: "Null for a run that is no child." }),
  requestedModelId: nullable.annotate({ description: "What the caller asked for." }),
  agentModelId: nullable.annotate({ description: "What the agent's charter says." }),
  projectModelId: nullable,
  defaultModelId: text,
})

const ModelChoiceAnswer = Schema.Struct({ modelId: text.check(Schema.isMinLength(1)), rationale: text })

/** The nearest word counts: the caller's, the agent's, the project's, the service's. */
export const chooseModel = (ask: typeof ModelChoiceAsk.Type): typeof ModelChoiceAnswer.Type => {
  if (ask.requestedModelId !== null) return { modelId: ask.requestedModelId, rationale: "requested" }
  if (ask.agentModelId !== null) return { modelId: ask.agentModelId, rationale: "agent" }
  if (ask.projectModelId !== null) return { modelId: ask.projectModelId, rationale: "project" }
  return { modelId: ask.defaultModelId, rationale: "default" }
}

export const modelChoose = decideQuestion({
  name: "model.choose",
  summary: "A run or a subtask picks the model that works on it.",
  ask: ModelChoiceAsk,
  answer: ModelChoiceAnswer,
  builtIn: chooseModel,
  essence: ({ modelId }) => modelId,
})
