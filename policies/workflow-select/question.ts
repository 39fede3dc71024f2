/** `workflow.select`: which workflow does a plan follow? */
import { Duration, Schema } from "effect"
import { decideQuestion } from "#core/hook.ts"
import { nullable, runId, text } from "#policies/fields.ts"

const WorkflowSelectAsk = Schema.Struct({
  runId,
  projectId: nullable,
  goal: text,
  overrideId: nullable.annotate({ description: "What the caller asked for." }),
  defaultId: nullable.annotate({ description: "What the project says." }),
  available: Schema.Array(Schema.Struct({ id: text, name: text, description: text })).check(Schema.isMinLength(1)),
})

const WorkflowSelectAnswer = Schema.Struct({
  selectedId: text,
  rationale: text,
  wasAutoSelected: Schema.Boolean,
})

/** Who asks has a model to ask, which is slow. */
const timeLimit = Duration.seconds(30)

/** What was asked for, else the project's own, else the first; never one that is not available. */
export const selectWorkflow = ({
  overrideId,
  defaultId,
  available,
}: typeof WorkflowSelectAsk.Type): typeof WorkflowSelectAnswer.Type => {
  const has = (id: string | null): id is string => available.some((workflow) => workflow.id === id)
  if (has(overrideId)) return { selectedId: overrideId, rationale: "requested", wasAutoSelected: false }
  if (has(defaultId)) return { selectedId: defaultId, rationale: "project_default", wasAutoSelected: true }
  const rationale = available.length === 1 ? "only_workflow" : "first_available"
  return { selectedId: available[0]?.id ?? "", rationale, wasAutoSelected: true }
}

export const workflowSelect = decideQuestion({
  name: "workflow.select",
  summary: "A coordinator run picks the workflow that it follows.",
  ask: WorkflowSelectAsk,
  answer: WorkflowSelectAnswer,
  builtIn: selectWorkflow,
  timeLimit,
  essence: ({ selectedId }) => selectedId,
})
