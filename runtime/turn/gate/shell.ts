/**
 * May this shell command run? The sandbox comes first, then what the repository's policy looks for, then the policies
 * of plugins, and a person last: nobody is asked about a command that is refused in any case.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { withReplayKey } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { Hooks } from "#core/hook.ts"
import { RunDegraded } from "#core/run/events/run.ts"
import { RunWaits } from "#core/run/waits.ts"
import { commandProblem, type Finding, inspectCommand } from "#policies/command/inspect.ts"
import { commandRun } from "#policies/command/question.ts"
import type { GateRules, GateRun, Patience } from "#runtime/turn/gate/run.ts"
import { allowed, explain, refused } from "#runtime/turn/gate/verdict.ts"

export const shellTool = "run_command"

/** Where commands begin: the top of the checkout. */
const workingDirectory = "."
/** Reasons that a person is shown; more say nothing new. */
const maxReasons = 5

export const commandHashOf = (command: string): string => `sha256:${createHash("sha256").update(command).digest("hex")}`

/** Why no command of this run may run at all; null where one may. */
export const shellObstacle = ({ policy, shellOff, sandbox }: GateRules): string | null => {
  if (shellOff !== null) return shellOff
  if (!policy.shellEnabled) return "The sandbox policy of the repository does not allow shell commands."
  if (!sandbox.isRealIsolation && !policy.direct) {
    return `Commands cannot be isolated here, so none is run. ${sandbox.reason}`
  }
  return null
}

export const makePermitShell = Effect.fnUntraced(function* (run: GateRun, rules: GateRules, { shell }: Patience) {
  const hooks = yield* Hooks
  const waits = yield* RunWaits
  const log = yield* EventLog
  const { runId, fence, lineage } = run
  const { agentName } = lineage[lineage.length - 1] ?? lineage[0]

  /** Told once in a run, however often the agent tries. */
  const degraded = Effect.fnUntraced(function* (reason: string) {
    const event = RunDegraded.of({ toolName: shellTool, reason })
    yield* log.append(runId, [withReplayKey(event, `degraded:${shellTool}`)])
    return refused(reason)
  })

  return Effect.fn("gate.shell")(function* (callId: string, input: unknown) {
    const obstacle = shellObstacle(rules)
    if (obstacle !== null) return yield* degraded(obstacle)
    const command = commandOf(input)
    if (command === undefined) return refused("run_command needs a command as text.")
    const problem = commandProblem(command)
    if (problem !== undefined) return refused(problem)
    const { destructiveCommandPatterns, requireApprovalForAllShell } = rules.policy
    const findings = inspectCommand(command, destructiveCommandPatterns)
    const commandHash = commandHashOf(command)
    yield* hooks.permit(commandRun, { runId, agentName, callId, command, commandHash, workingDirectory }, { runId })
    if (findings.length === 0 && !requireApprovalForAllShell) return allowed
    const permission = yield* waits.permitShell({
      runId,
      fence,
      callId,
      patience: shell,
      commandHash,
      commandLength: command.length,
      message: messageOf(findings),
    })
    return explain(permission, "this command")
  })
})

const commandOf = (input: unknown): string | undefined =>
  typeof input === "object" && input !== null && "command" in input && typeof input.command === "string"
    ? input.command
    : undefined

const messageOf = (findings: ReadonlyArray<Finding>): string => {
  if (findings.length === 0) return "The sandbox policy of the repository asks for approval of every shell command."
  const reasons = findings.slice(0, maxReasons).map(({ rule, reason }) => `${reason} (${rule})`)
  return `This shell command needs approval: ${reasons.join("; ")}.`
}
