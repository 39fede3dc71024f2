/** Which subtasks a signal is about, and which others stand on them. */
import type { PlanView, SteeringAnswer, SteeringSignal, SubtaskView } from "#policies/steering/model.ts"

export interface Scope {
  readonly implicated: ReadonlyArray<SubtaskView>
  readonly fallback: SteeringAnswer["scopeFallback"]
}

/**
 * Subtasks named by the signal itself; else those that committed a file which the reviewer named; else, since
 * nobody can be told, all that committed anything.
 */
export const scopeOf = ({ targetScope, targetFiles }: SteeringSignal, { subtasks }: PlanView): Scope => {
  const named = subtasks.filter(
    ({ subtaskId, childRunId }) =>
      targetScope.subtaskIds?.includes(subtaskId) || (childRunId !== null && childRunId === targetScope.childRunId),
  )
  if (named.length > 0 || targetScope.kind === "subtask") return { implicated: named, fallback: null }

  const files = (targetFiles ?? []).map(plainPath)
  const authors = subtasks.filter(({ touchedFiles }) => touchedFiles.some((file) => files.includes(plainPath(file))))
  if (authors.length > 0) return { implicated: authors, fallback: null }

  const contributors = subtasks.filter(({ touchedFiles }) => touchedFiles.length > 0)
  return {
    implicated: contributors,
    fallback: {
      reason: files.length === 0 ? "no_target_files_field" : "target_files_matched_nothing",
      namedFiles: files,
      touchedFiles: [...new Set(contributors.flatMap(({ touchedFiles }) => touchedFiles))].sort(),
      contributorIds: contributors.map(({ subtaskId }) => subtaskId),
    },
  }
}

/** `./src//a.ts` and `src/a.ts` are one file. Case and everything else count. */
const plainPath = (path: string): string => path.replace(/\/{2,}/g, "/").replace(/^(?:\.\/)+/, "")

/** A subtask that has not begun will see what it depends on as it is then. */
const hasBegun = ({ status }: SubtaskView): boolean =>
  status !== "pending" && status !== "pending_capacity" && status !== "blocked"

/** What depends on these, directly or through others, in the plan's order; not these themselves. */
export const dependentsOf = (
  implicated: ReadonlyArray<SubtaskView>,
  { subtasks, dependencies }: PlanView,
): ReadonlyArray<SubtaskView> => {
  const reached = new Set(implicated.map(({ subtaskId }) => subtaskId))
  // a set hands out what is added while it is walked, and walks nothing twice: a cycle ends
  for (const id of reached) {
    for (const edge of dependencies) if (edge.dependsOnSubtaskId === id) reached.add(edge.subtaskId)
  }
  return subtasks.filter(
    (subtask) => reached.has(subtask.subtaskId) && hasBegun(subtask) && !implicated.includes(subtask),
  )
}
