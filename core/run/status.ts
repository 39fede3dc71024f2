/** The statuses of a run, and which of them are final. */
import { Schema } from "effect"

export const runStatuses = [
  "pending",
  "in_progress",
  "awaiting_review",
  "committing",
  "merging",
  "assemble_ready",
  "completed",
  "merged",
  "declined",
  "failed",
  "merge_failed",
  "cancelled",
] as const

export const RunStatus = Schema.Literals(runStatuses)
export type RunStatus = (typeof runStatuses)[number]

/** Nothing more happens in these. `assemble_ready` ends a child; its work goes on in the parent's assembly. */
export const terminalStatuses: ReadonlyArray<RunStatus> = [
  "assemble_ready",
  "completed",
  "merged",
  "declined",
  "failed",
  "merge_failed",
  "cancelled",
]

export const activeStatuses: ReadonlyArray<RunStatus> = runStatuses.filter((s) => !terminalStatuses.includes(s))

export const isTerminal = (status: RunStatus): boolean => terminalStatuses.includes(status)

/** Where the diff may be shown. Elsewhere it is withheld: work that failed or was not reviewed may hold unsafe text. */
export const diffStatuses: ReadonlyArray<RunStatus> = [
  "awaiting_review",
  "committing",
  "merging",
  "merged",
  "merge_failed",
  "declined",
]
