/**
 * A child may do no more than the runs above it: each call is asked about once for every run from the top down
 * to the caller, and one refusal is enough. So no agent gets around a refusal by having another do it.
 */
import { Effect } from "effect"
import type { HooksShape } from "#core/hook.ts"
import type { Refusal } from "#core/refusal.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"
import { type ToolCallAsk, toolCall } from "#policies/tool-call/question.ts"

export interface LineageEntry {
  readonly runId: string
  readonly agentName: string
}

/** One question for every run of the lineage, the topmost first; the last is the caller's own. */
export const asksOf = (
  call: Omit<ToolCallAsk, "runId" | "calledBy" | "agentName">,
  lineage: readonly [LineageEntry, ...LineageEntry[]],
): ReadonlyArray<ToolCallAsk> => {
  const calledBy = (lineage.at(-1) ?? lineage[0]).runId
  return lineage.map(({ runId, agentName }) => ({ ...call, runId, agentName, calledBy }))
}

/** Fails with `refused_by_policy` for the first refusal. Every answer is kept in the caller's log. */
export const permitToolCall = (
  hooks: HooksShape,
  call: Omit<ToolCallAsk, "runId" | "calledBy" | "agentName">,
  lineage: readonly [LineageEntry, ...LineageEntry[]],
): Effect.Effect<void, Refusal | DatabaseUnavailable> =>
  Effect.forEach(asksOf(call, lineage), (ask) => hooks.permit(toolCall, ask, { runId: ask.calledBy }), {
    discard: true,
  })
