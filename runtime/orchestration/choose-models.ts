/** The model of each part of a plan: policies may choose another than its agent's. */
import { Effect } from "effect"
import type { HooksShape } from "#core/hook.ts"
import { modelChoose } from "#policies/model-choice/question.ts"
import type { Decomposition } from "#runtime/coordinator/model/decompose.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { WorldFailed } from "#runtime/coordinator/world.ts"

export const chooseModels = Effect.fnUntraced(function* (
  hooks: HooksShape,
  { run }: CoordinatorState,
  parts: Decomposition,
) {
  const items = yield* Effect.forEach(parts.items, (item) =>
    Effect.map(
      hooks
        .ask(
          modelChoose,
          {
            runId: run.runId,
            projectId: run.projectId,
            agentName: item.assignedAgent,
            subtask: { subtaskId: item.item, title: item.title, phase: item.phase, complexity: item.complexity },
            requestedModelId: null,
            agentModelId: item.selectedModelId,
            projectModelId: null,
            defaultModelId: run.modelId ?? item.selectedModelId,
          },
          { runId: run.runId },
        )
        .pipe(Effect.mapError(({ message }) => new WorldFailed({ reason: "unavailable", message, retryable: true }))),
      ({ modelId }) => ({ ...item, selectedModelId: modelId }),
    ),
  )
  return { ...parts, items }
})
