/**
 * States as this replica last saw or wrote them. While the version is the same so are the rows: of a run whose children
 * work, only the run itself and the children that work are read again.
 */
import { isOpen } from "#runtime/coordinator/next/steering.ts"
import { type CoordinatorState, liveAttempt } from "#runtime/coordinator/state.ts"

/** Runs of which the state is kept; the one that was not seen for longest goes first. */
const maxStates = 64

export interface Remembered {
  readonly find: (runId: string) => CoordinatorState | undefined
  readonly keep: (state: CoordinatorState) => void
  readonly forget: (runId: string) => void
}

export const makeRemembered = (): Remembered => {
  const states = new Map<string, CoordinatorState>()
  return {
    find: (runId) => states.get(runId),
    keep: (state) => {
      states.delete(state.run.runId)
      // elsewhere it may matter how children stand that have ended: there the whole is read
      if (!standsStill(state)) return
      states.set(state.run.runId, state)
      const [oldest] = states.keys()
      if (states.size > maxStates && oldest !== undefined) states.delete(oldest)
    },
    forget: (runId) => void states.delete(runId),
  }
}

/** Nothing happens but that children work and are started. */
const standsStill = ({ plan, directives }: CoordinatorState): boolean =>
  plan?.status === "dispatching" && !directives.some(isOpen)

/** The children that may have moved on since. */
export const liveChildren = ({ plan }: CoordinatorState): ReadonlyArray<string> =>
  (plan?.subtasks ?? []).flatMap((subtask) => liveAttempt(subtask)?.childRunId ?? [])
