/** A state in one line, for people: what is not in it does not show in a log, but in what is decided. */
import type { CoordinatorState, Directive, Subtask } from "#runtime/coordinator/state.ts"

export const summaryOf = ({ run, spec, plan, directives }: CoordinatorState): string => {
  const parts = [`run ${run.status}`]
  if (spec !== null && spec.status !== "confirmed") parts.push(`spec ${spec.status}`)
  if (plan !== null) {
    const { stage, round, gateId } = plan.assembly
    const at = stage === null ? "" : ` at ${stage}${gateId === null ? "" : " (asked)"}`
    const used = plan.steeringIterations === 0 ? "" : `, steered ${plan.steeringIterations}`
    parts.push(`plan ${plan.status}${at}, round ${round}${used}`)
    parts.push(...plan.subtasks.map(summaryOfSubtask))
  }
  parts.push(...directives.filter(({ status }) => status !== "applied").map(summaryOfDirective))
  return parts.join("; ")
}

const summaryOfSubtask = (subtask: Subtask): string => {
  const { subtaskId, status, assignedAgent, attempts, lockedOutAgents, recoveryAttempts, onTop } = subtask
  const tries = attempts.length > 1 ? `, try ${attempts.length}` : ""
  const out = lockedOutAgents.length === 0 ? "" : `, without ${lockedOutAgents.join(" and ")}`
  const recovered = recoveryAttempts === 0 ? "" : `, recovered ${recoveryAttempts}`
  return `${subtaskId} ${status} ${assignedAgent}${tries}${recovered}${out}${onTop ? ", on top" : ""}`
}

const summaryOfDirective = ({ directiveId, status, signal, revised }: Directive): string =>
  `directive ${directiveId} ${status} (${signal.verb} from ${signal.source}${revised.length === 0 ? "" : `, revised ${revised.join(" ")}`})`
