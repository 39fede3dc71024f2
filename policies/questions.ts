/** Every question that plugins may answer, in one list. */
import type { AnyQuestion } from "#core/hook.ts"
import { agentContext } from "#policies/agent-context/question.ts"
import { assemblyGate } from "#policies/assembly-gate/question.ts"
import { commandRun } from "#policies/command/question.ts"
import { edgeRequest } from "#policies/edge-request/question.ts"
import { modelChoose } from "#policies/model-choice/question.ts"
import { previewPublish } from "#policies/preview/question.ts"
import { raiReview } from "#policies/rai/question.ts"
import { reviewAccept } from "#policies/review/question.ts"
import { skillImport } from "#policies/skill-import/question.ts"
import { steeringDecide } from "#policies/steering/question.ts"
import { toolCall } from "#policies/tool-call/question.ts"
import { workflowSelect } from "#policies/workflow-select/question.ts"

/** By the name that code calls it: `steering.decide` is `steeringDecide`. */
export const questionsByKey = {
  steeringDecide,
  raiReview,
  assemblyGate,
  toolCall,
  commandRun,
  previewPublish,
  reviewAccept,
  skillImport,
  workflowSelect,
  modelChoose,
  agentContext,
  edgeRequest,
} as const

export const questions: ReadonlyArray<AnyQuestion> = Object.values(questionsByKey)

export const questionNamed = (name: string): AnyQuestion | undefined => questions.find((known) => known.name === name)

/** By name: of features that this version does not have. A policy may answer them, and nothing asks it. */
export const notYetAsked: ReadonlyArray<string> = [previewPublish, skillImport, workflowSelect, edgeRequest].map(
  ({ name }) => name,
)
