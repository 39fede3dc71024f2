/** A person steers a coordinator run: stop, send, redirect, amend, or start lost work again. */
import { Result } from "effect"
import { type Refusal, refuse } from "#core/refusal.ts"
import type { RunStatus } from "#core/run/status.ts"
import type { Change } from "#runtime/coordinator/change.ts"
import { type Decided, inactive, personSignal, sentBack } from "#runtime/coordinator/command.ts"
import { newDirective, received, type Stamp } from "#runtime/coordinator/outcome.ts"
import { type CoordinatorState, childOf, liveAttempt, type Subtask, type WorkPlan } from "#runtime/coordinator/state.ts"
import { targetFilesIn } from "#runtime/coordinator/target-files.ts"

/** `dispatch-fresh` is the recovery verb: what failed is done again. */
export const steerKinds = ["stop", "send", "redirect", "amend", "dispatch-fresh"] as const
export type SteerKind = (typeof steerKinds)[number]

export interface SteerCommand {
  readonly kind: SteerKind
  /** Null: everybody. */
  readonly targetChildRunId: string | null
  readonly instruction: string
  readonly by: string
}

/** Once a person has approved, the merge is under way. */
const steerable: ReadonlySet<RunStatus> = new Set(["pending", "in_progress", "awaiting_review"])

const invalid = (message: string): Decided => Result.fail(refuse("steering_invalid", { message }))

export const steer = (state: CoordinatorState, command: SteerCommand, stamp: Stamp): Decided => {
  const { run, plan } = state
  const { kind, targetChildRunId, instruction, by } = command
  const over = inactive(state)
  if (over !== undefined) return Result.fail(over)
  if (!steerable.has(run.status)) {
    return Result.fail(
      refuse("conflict", { message: "What was assembled is being merged.", extra: { status: run.status } }),
    )
  }
  const wantsChanges = kind === "redirect" || kind === "amend"
  if (wantsChanges && instruction.trim() === "") {
    return invalid(`instruction is required for ${kind}.`)
  }
  const target = plan?.subtasks.find((subtask) => childOf(subtask) === targetChildRunId && targetChildRunId !== null)
  if (targetChildRunId !== null && target === undefined) {
    return invalid("target_child_run_id names no child that this run works with now.")
  }
  const signal = personSignal(state, {
    by,
    verb: kind,
    feedback: instruction,
    targetFiles: targetFilesIn(instruction),
    targets: targetsOf(plan, kind, target),
    ...(targetChildRunId === null ? {} : { childRunId: targetChildRunId }),
  })
  const note = (text: string) => ({
    _tag: "SignalReceived" as const,
    directive: newDirective(signal, stamp, "applied"),
    note: text,
  })
  if (kind === "stop") return stop(target, targetChildRunId, by, note("stop_requested"))
  if (plan === null) return invalid("There is no work plan yet. Revise the outcome spec, or stop the run.")
  if (kind === "send" && plan.status === "in_review") return Result.succeed([note("advisory_note")])
  const held = plan.status === "assembly_blocked" && target === undefined
  if (held && (kind === "send" || kind === "dispatch-fresh")) {
    const reason = kind === "send" ? "assembly_blocked_send" : "recovery"
    return Result.succeed([note(reason), { _tag: "Rearmed", by, reason, feedback: instruction }])
  }
  if (kind !== "dispatch-fresh") {
    return Result.succeed([received(signal, stamp, wantsChanges ? sentBack(plan) : "pending")])
  }
  const lost = plan.subtasks.filter(({ subtaskId }) => signal.targetScope.subtaskIds?.includes(subtaskId))
  if (lost.length === 0) return invalid("There is nothing to recover: no subtask has failed.")
  const spent = lost.find(({ recoveryAttempts }) => recoveryAttempts >= state.limits.recoveryAttempts)
  return spent === undefined ? Result.succeed([received(signal, stamp)]) : Result.fail(exhausted(spent))
}

/** To have the same done again spends what the service itself may spend on it; to want something else renews that. */
const exhausted = ({ title, recoveryAttempts }: Subtask): Refusal =>
  refuse("steering_recovery_exhausted", {
    message: `"${title}" was started again ${recoveryAttempts} times already. Redirect or amend it to have it tried anew.`,
  })

const stop = (target: Subtask | undefined, targetChildRunId: string | null, by: string, note: Change): Decided => {
  if (targetChildRunId === null) return Result.succeed([note, { _tag: "Stopped", by }])
  if (target === undefined || liveAttempt(target) === undefined) return invalid("The child is not working any more.")
  return Result.succeed([note, { _tag: "ChildSettled", subtaskId: target.subtaskId, end: "stopped" }])
}

/**
 * Whom a directive without a target means while children work: all that have begun. Once their work is assembled
 * nobody is named, and the files that are named in the instruction tell.
 */
const targetsOf = (plan: WorkPlan | null, kind: SteerKind, target: Subtask | undefined): ReadonlyArray<number> => {
  if (target !== undefined) return [target.subtaskId]
  if (plan === null) return []
  const meant =
    kind === "dispatch-fresh"
      ? plan.subtasks.filter(({ status }) => status === "failed" || status === "rai_flagged")
      : plan.status === "dispatching"
        ? plan.subtasks.filter((subtask) => childOf(subtask) !== null)
        : []
  return meant.map(({ subtaskId }) => subtaskId)
}
