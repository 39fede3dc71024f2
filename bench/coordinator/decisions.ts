/** The decisions of a coordinator alone: what is next, and what it makes of the state; nothing is stored or told. */
import { edgesOf } from "#bench/coordinator/plans.ts"
import type { Action } from "#runtime/coordinator/action.ts"
import { evolveAll } from "#runtime/coordinator/evolve.ts"
import { plannedFrom } from "#runtime/coordinator/model/plan.ts"
import { next } from "#runtime/coordinator/next.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { plannedItems } from "#runtime/coordinator/test/items.ts"
import { aSpec, aState } from "#runtime/coordinator/test/states.ts"

/** Milliseconds for one subtask, until the plan of so many is ready to be integrated. */
export const decisions = (count: number): number => {
  const ids = Array.from({ length: count + 1 }, (_, index) => index + 1)
  const parts = { items: plannedItems(count, edgesOf(count)), adjustments: [] }
  const drafted = plannedFrom(parts, { workflowId: null, gates: ["rai", "build-test"] }, ids)
  let state = evolveAll(aState({ spec: aSpec, plan: null }), [drafted])
  const begin = performance.now()
  for (;;) {
    const [action] = next(state, 0)
    if (action === undefined) state = childrenReady(state)
    else if (action._tag === "Write") state = evolveAll(state, action.changes)
    else if (action._tag === "Dispatch") state = dispatched(state, action)
    else if (action._tag === "Integrate") return (performance.now() - begin) / count
    else throw new Error(`not expected: ${action._tag}`)
  }
}

const dispatched = (state: CoordinatorState, { subtaskId, attempt }: Extract<Action, { _tag: "Dispatch" }>) =>
  evolveAll(state, [{ _tag: "Dispatched", subtaskId, attempt, childRunId: `child-${subtaskId}` }])

/** Every child that works is through. */
const childrenReady = (state: CoordinatorState): CoordinatorState => ({
  ...state,
  children: Object.fromEntries(
    Object.entries(state.children).map(([id, child]) => [
      id,
      child.status === "assemble_ready" ? child : { ...child, status: "assemble_ready" as const, commit: "c" },
    ]),
  ),
})
