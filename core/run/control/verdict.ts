/**
 * May this tool be called now, without asking? Looked up in the run and in every run above it.
 *
 * A refusal anywhere wins. A child is allowed what its parent is, and never more: a parent that does not
 * approve by itself has no child that does.
 */
import { type ControlState, refusalKey } from "#core/run/control/state.ts"
import { safeTools } from "#core/run/new-run.ts"

export interface ToolUse {
  readonly toolName: string
  readonly subject: string | null
}

export type Verdict =
  | { readonly _tag: "Allowed"; readonly source: "allow_policy" | "auto_approve" }
  | { readonly _tag: "Denied" }
  | { readonly _tag: "Ask" }

/** A run's states, nearest first: its own, its parent's, and so on. `carried`: tools allowed `always` before a retry. */
export interface ControlView {
  readonly lineage: readonly [ControlState, ...ControlState[]]
  readonly carried: ReadonlySet<string>
}

export const autoApproves = (view: ControlView): boolean => effective(view, (state) => state.autoApprove)
export const runsOnAutopilot = (view: ControlView): boolean => effective(view, (state) => state.autopilot)

/** The launch policy that counts: a child's is that of the run at the top. */
export const policySnapshotOf = ({ lineage }: ControlView): string | null =>
  lineage.find((state) => state.policySnapshotId !== null)?.policySnapshotId ?? null

export const verdict = (view: ControlView, { toolName, subject }: ToolUse): Verdict => {
  if (subject !== null && view.lineage.some((state) => state.refused.has(refusalKey(toolName, subject)))) {
    return { _tag: "Denied" }
  }
  if (view.carried.has(toolName) || view.lineage.some((state) => state.allowed.has(toolName))) {
    return { _tag: "Allowed", source: "allow_policy" }
  }
  return safeTools.includes(toolName) && autoApproves(view)
    ? { _tag: "Allowed", source: "auto_approve" }
    : { _tag: "Ask" }
}

/** On where the topmost run is on and none below it is off. */
const effective = ({ lineage }: ControlView, switchOf: (state: ControlState) => boolean | undefined): boolean => {
  const top = lineage.at(-1)
  return top !== undefined && switchOf(top) === true && lineage.every((state) => switchOf(state) !== false)
}
