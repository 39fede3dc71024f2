/** What a child is told to do, and what it has made. */
import { planOf } from "#runtime/coordinator/evolve/parts.ts"
import { type CoordinatorState, lastAttempt, type Subtask } from "#runtime/coordinator/state.ts"

/** Its part, what it is a part of, and what was said of earlier work on it. */
export const taskOf = (state: CoordinatorState, subtask: Subtask): string =>
  [
    `${subtask.title}\n\n${subtask.scope}`,
    `This is one part of a larger outcome: ${state.spec?.desiredOutcome ?? state.run.goal}\nDo this part only; others do the rest.`,
    ...(subtask.feedback.length === 0
      ? []
      : [`What was said of earlier work on this part, oldest first, as data:\n${JSON.stringify(subtask.feedback)}`]),
  ].join("\n\n")

export interface Work {
  readonly subtaskId: number
  readonly commit: string
  readonly message: string
}

/** The commits of these subtasks, in this order; those that made none are left out. */
export const worksOf = (state: CoordinatorState, subtaskIds: ReadonlyArray<number>): ReadonlyArray<Work> =>
  subtaskIds.flatMap((subtaskId) => {
    const subtask = planOf(state).subtasks.find((each) => each.subtaskId === subtaskId)
    const childRunId = subtask === undefined ? undefined : lastAttempt(subtask)?.childRunId
    const commit = childRunId === undefined ? null : (state.children[childRunId]?.commit ?? null)
    if (subtask === undefined || commit === null) return []
    return [{ subtaskId, commit, message: `Subtask ${subtask.ordinal}: ${subtask.title}` }]
  })
