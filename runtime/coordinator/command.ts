/**
 * What people ask of a coordinator run, decided from its state: the changes, or why not. Nothing here waits for
 * whoever drives the plan: the change is written by whoever was asked, and the driver finds it.
 */
import { Result } from "effect"
import { type Refusal, refuse } from "#core/refusal.ts"
import { isTerminal } from "#core/run/status.ts"
import type { Change } from "#runtime/coordinator/change.ts"
import { received, type Stamp } from "#runtime/coordinator/outcome.ts"
import type {
  CoordinatorRun,
  CoordinatorState,
  DirectiveStatus,
  PlanStatus,
  WorkPlan,
} from "#runtime/coordinator/state.ts"
import { targetFilesIn } from "#runtime/coordinator/target-files.ts"

/** No changes: it was done before. */
export type Decided = Result.Result<ReadonlyArray<Change>, Refusal>

const done: Decided = Result.succeed([])
const changes = (...these: ReadonlyArray<Change>): Decided => Result.succeed(these)

export const notActive = ({ status, result }: Pick<CoordinatorRun, "status" | "result">): Refusal =>
  refuse("run_not_active", {
    extra: { status, detail: `The run has ended: ${status}${result === null ? "" : ` (${result})`}.` },
  })

export const inactive = ({ run }: CoordinatorState): Refusal | undefined =>
  isTerminal(run.status) ? notActive(run) : undefined

export const confirmSpec = (
  state: CoordinatorState,
  { by, allowTaskPromotion }: { readonly by: string; readonly allowTaskPromotion: boolean },
): Decided => {
  if (state.spec?.status === "confirmed") return done
  const refused = inactive(state)
  if (refused !== undefined) return Result.fail(refused)
  return state.spec?.status === "awaiting_confirmation"
    ? changes({ _tag: "SpecConfirmed", by, allowTaskPromotion })
    : Result.fail(refuse("no_pending_gate", { message: "No outcome spec waits to be confirmed." }))
}

export const reviseSpec = (
  state: CoordinatorState,
  { by, feedback }: { readonly by: string; readonly feedback: string },
): Decided => {
  const refused = inactive(state)
  if (refused !== undefined) return Result.fail(refused)
  return state.spec?.status === "awaiting_confirmation"
    ? changes({ _tag: "SpecRevised", by, feedback })
    : Result.fail(refuse("no_pending_gate", { message: "No outcome spec waits to be revised." }))
}

/** Reached from inside alone: a person who does not want it cancels the run. */
export const declineSpec = (state: CoordinatorState): Decided =>
  state.spec?.status === "awaiting_confirmation"
    ? changes({ _tag: "SpecDeclined" })
    : Result.fail(refuse("no_pending_gate", { message: "No outcome spec waits to be declined." }))

export interface ReviewDecision {
  readonly approved: boolean
  readonly requestChanges: boolean
  readonly feedback: string
  /** Null: none were named; a `TARGET_FILES:` line of the feedback counts then. */
  readonly targetFiles: ReadonlyArray<string> | null
  readonly by: string
}

/** Where a person may decide on what was assembled, and what. */
const approvable: ReadonlySet<PlanStatus> = new Set(["in_review", "rai_blocked"])
const changeable: ReadonlySet<PlanStatus> = new Set([
  "in_review",
  "rai_blocked",
  "needs_resolution",
  "assembly_blocked",
])

export const reviewAssembly = (state: CoordinatorState, decision: ReviewDecision, stamp: Stamp): Decided => {
  const { plan, run } = state
  const { approved, requestChanges, feedback, by } = decision
  if (plan !== null && approved && run.status === "merging" && plan.assembly.approvedBy === by) return done
  const refused = inactive(state)
  if (refused !== undefined) return Result.fail(refused)
  const none = refuse("no_assembly_review_pending")
  if (plan === null || !changeable.has(plan.status)) return Result.fail(none)
  if (requestChanges) {
    const targetFiles = decision.targetFiles ?? targetFilesIn(feedback)
    const signal = personSignal(state, { by, verb: "redirect", feedback, targetFiles, targets: [] })
    return changes(received(signal, stamp, sentBack(plan)))
  }
  if (approved) return approvable.has(plan.status) ? changes({ _tag: "ReviewApproved", by }) : Result.fail(none)
  return plan.assembly.treeHash === null
    ? Result.fail(none)
    : changes({ _tag: "ReviewDeclined", by, reason: feedback.trim() === "" ? "declined" : feedback })
}

/** Who reviews and wants changes has decided: that is relayed at once, and how it is done is decided after. */
export const sentBack = ({ status }: WorkPlan): DirectiveStatus => (status === "in_review" ? "relayed" : "pending")

/** A plan that is held up goes on, as far as it can: what was lost is done again, with new budgets. */
export const rearm = (state: CoordinatorState, by: string, reason = "retry"): Decided => {
  const status = state.plan?.status
  const held = status === "assembly_blocked" || status === "needs_resolution"
  const refused = inactive(state)
  if (refused !== undefined) return Result.fail(refused)
  return held ? changes({ _tag: "Rearmed", by, reason, feedback: "" }) : Result.fail(refuse("run_not_retryable"))
}

interface PersonSignal {
  readonly by: string
  readonly verb: "stop" | "send" | "redirect" | "amend" | "dispatch-fresh"
  readonly feedback: string
  readonly targetFiles: ReadonlyArray<string> | null
  readonly targets: ReadonlyArray<number>
  readonly childRunId?: string
}

export const personSignal = (
  { run, plan }: CoordinatorState,
  { by, verb, feedback, targetFiles, targets, childRunId }: PersonSignal,
) => ({
  coordinatorRunId: run.runId,
  source: "human-review" as const,
  targetScope: {
    kind: childRunId === undefined ? ("work-plan" as const) : ("subtask" as const),
    ...(targets.length === 0 ? {} : { subtaskIds: targets }),
    ...(childRunId === undefined ? {} : { childRunId }),
  },
  feedback,
  severity: verb === "stop" ? ("blocking" as const) : ("request-changes" as const),
  verb,
  treeHash: plan?.assembly.treeHash ?? null,
  targetFiles,
  createdBy: by,
})
