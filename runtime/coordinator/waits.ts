/** Who can make a coordinator run go on that has nothing to do. */
import { isTerminal } from "#core/run/status.ts"
import { capacityRetryMillis } from "#runtime/coordinator/limits.ts"
import { millisPerMinute } from "#runtime/coordinator/next/dispatch.ts"
import { type CoordinatorState, liveAttempt } from "#runtime/coordinator/state.ts"

export type Wait =
  /** The child moves on, or has said nothing until then (milliseconds since 1970); null: it need not say anything. */
  | { readonly _tag: "Child"; readonly childRunId: string; readonly until: number | null }
  /** A place to work in becomes free. */
  | { readonly _tag: "Capacity"; readonly until: number }
  | {
      readonly _tag: "Person"
      readonly asked: "confirm_outcome_spec" | "review" | "override_rai" | "resolve" | "retry"
    }

export const waitsOf = (state: CoordinatorState, now: number): ReadonlyArray<Wait> => {
  const { run, spec, plan, children, limits } = state
  if (isTerminal(run.status)) return []
  if (plan === null) {
    return spec?.status === "awaiting_confirmation" ? [{ _tag: "Person", asked: "confirm_outcome_spec" }] : []
  }
  switch (plan.status) {
    case "in_review":
      return [{ _tag: "Person", asked: "review" }]
    case "rai_blocked":
      return [{ _tag: "Person", asked: "override_rai" }]
    case "needs_resolution":
      return [{ _tag: "Person", asked: "resolve" }]
    case "assembly_blocked":
      return [{ _tag: "Person", asked: "retry" }]
    case "dispatching": {
      const live = plan.subtasks.flatMap((subtask) => liveAttempt(subtask) ?? [])
      const waits = live.map(({ childRunId }): Wait => {
        const child = children[childRunId]
        const silent = child === undefined || child.waiting || child.status === "pending"
        return {
          _tag: "Child",
          childRunId,
          until: silent ? null : child.lastEventAt + limits.stallMinutes * millisPerMinute,
        }
      })
      if (waits.length > 0) return waits
      const held = plan.subtasks.some(({ status }) => status === "pending") && limits.capacity <= 0
      return held ? [{ _tag: "Capacity", until: now + capacityRetryMillis }] : []
    }
    case "planned":
    case "awaiting_assembly":
    case "assembling":
    case "assembly_steering":
    case "complete":
    case "assembly_failed":
    case "assembly_declined":
    case "cancelled":
      return []
  }
}
