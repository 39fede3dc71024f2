/** `ask_question`: a person is asked, and the turn waits for the answer. */
import { Effect, Schema } from "effect"
import { defineTool, done, type Performed } from "#sandbox-agent/turn/tool.ts"

export const askQuestion = defineTool({
  name: "ask_question",
  description: "Asks the people who gave the task, where it is unclear and you cannot find it out. It may take long.",
  input: Schema.Struct({ question: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(8_000)) }),
  hasEffect: false,
  run: ({ question }, { world, callId }) =>
    Effect.map(world.ask(callId, world.redact(question)), (given): Performed => {
      if (given._tag === "Waits") return { answer: given, events: [] }
      return given.answer === null
        ? done("Nobody answered in time. Go on with what seems best, and say in the end what you assumed.")
        : done(given.answer)
    }),
})
