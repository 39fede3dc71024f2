/** `report_outcome`: what the agent thinks of its work. */
import { Effect, Schema } from "effect"
import { cutMiddle } from "#sandbox-agent/turn/cut.ts"
import { defineTool, done } from "#sandbox-agent/turn/tool.ts"

/** Characters of a reason that are told. */
const maxReason = 8_000

export const Outcome = Schema.Struct({ achieved: Schema.Boolean, reason: Schema.String })

export const reportOutcome = defineTool({
  name: "report_outcome",
  description: "Call this once when you are done: was the task achieved, and why do you think so?",
  input: Outcome,
  hasEffect: false,
  run: ({ achieved, reason }, { world }) =>
    Effect.succeed(
      done("Noted. End with a short summary of what you did.", [
        { type: "run.outcome", payload: { achieved, reason: cutMiddle(world.redact(reason), maxReason) } },
      ]),
    ),
})
