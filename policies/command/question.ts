/**
 * `command.run`: may this shell command run? Asked after the sandbox policy was looked at and before a person is
 * asked, and again when the person has decided. Nothing is refused without a plugin.
 */
import { Schema } from "effect"
import { guardQuestion } from "#core/hook.ts"
import { runId, text } from "#policies/fields.ts"

export const commandRun = guardQuestion({
  name: "command.run",
  summary: "An agent is about to run a shell command.",
  ask: Schema.Struct({
    runId,
    agentName: text,
    callId: text,
    command: text,
    commandHash: text.annotate({ description: "`sha256:` and the digest of the command." }),
    workingDirectory: text.annotate({ description: "From the top of the checkout; `.` for the top itself." }),
  }),
})
