/** `report_intent`: what the agent is about to do, for those who watch. */
import { Effect, Schema } from "effect"
import { defineTool, done } from "#sandbox-agent/turn/tool.ts"

/** Characters that are told. */
const maxIntent = 500

export const reportIntent = defineTool({
  name: "report_intent",
  description: "Says in a few words what you are about to do, for the people who watch.",
  input: Schema.Struct({ intent: Schema.String.check(Schema.isMinLength(1)) }),
  hasEffect: false,
  run: ({ intent }, { world }) => {
    const line = world
      .redact(intent)
      .replace(/[\p{Cc}\u2028\u2029\s]+/gu, " ")
      .trim()
      .slice(0, maxIntent)
    return Effect.succeed(done("Noted.", [{ type: "agent.intent", payload: { intent: line } }]))
  },
})
