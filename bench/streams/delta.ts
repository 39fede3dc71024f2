/** The event of the streams bench: a piece of text as a model streams it. */
import { Schema } from "effect"
import { defineEvent } from "#core/event.ts"

export const Delta = defineEvent(
  "agent.message.delta",
  Schema.Struct({ delta: Schema.String, messageId: Schema.String }),
).of({ delta: "a piece of text as a model streams it, ", messageId: "m-1" })

/** The frame that carries it. */
export const frameOf = (sequence: number): string => `id: ${sequence}\nevent: ${Delta.type}\ndata: ${Delta.payload}\n\n`
