/** How far a coordinator goes by itself. */
import { recoveryAttemptsPerSubtask, steeringIterationsPerPlan } from "#policies/steering/model.ts"

export interface Limits {
  /** Children of one plan that work at the same time. */
  readonly width: number
  /** Children that may be started now, whoever's they are. */
  readonly capacity: number
  /** Minutes without an event until a child counts as stalled. */
  readonly stallMinutes: number
  readonly recoveryAttempts: number
  readonly steeringIterations: number
}

export const defaultLimits: Limits = {
  width: 4,
  capacity: Number.MAX_SAFE_INTEGER,
  stallMinutes: 5,
  recoveryAttempts: recoveryAttemptsPerSubtask,
  steeringIterations: steeringIterationsPerPlan,
}

/** What gates and people said, kept for one subtask. */
export const maxFeedback = 32
/** Characters of each. */
export const maxFeedbackLength = 2_000

/** Milliseconds until a plan looks again for a place to start a child. */
export const capacityRetryMillis = 60_000

/** The feedback with one more, the oldest given up where there are too many. */
export const withFeedback = (feedback: ReadonlyArray<string>, more: string): ReadonlyArray<string> =>
  more.trim() === "" ? feedback : [...feedback, more.slice(0, maxFeedbackLength)].slice(-maxFeedback)
