/** Policies are asked whether what was assembled may go before a person: licences, sizes, secrets. */
import { Effect } from "effect"
import type { HooksShape } from "#core/hook.ts"
import { assemblyGate } from "#policies/assembly-gate/question.ts"
import { planOf } from "#runtime/coordinator/evolve/parts.ts"
import type { WholeChange } from "#runtime/coordinator/model/gates.ts"
import { type CoordinatorState, integrationBranch } from "#runtime/coordinator/state.ts"
import { refusedByPolicy, WorldFailed } from "#runtime/coordinator/world.ts"

export const permitReview = (hooks: HooksShape, state: CoordinatorState, { diff, files }: WholeChange) => {
  const { runId } = state.run
  const { workPlanId, assembly } = planOf(state)
  const ask = {
    runId,
    workPlanId,
    integrationBranch: integrationBranch(runId),
    treeHash: assembly.treeHash,
    files: files.map(({ path, status, addedLines, removedLines }) => ({ path, status, addedLines, removedLines })),
    diff,
  }
  return hooks.permit(assemblyGate, ask, { runId }).pipe(
    Effect.catchTags({
      Refusal: ({ message }) => new WorldFailed({ reason: refusedByPolicy, message, retryable: false }),
      DatabaseUnavailable: ({ message }) => new WorldFailed({ reason: "unavailable", message, retryable: true }),
    }),
  )
}
