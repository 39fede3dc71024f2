/** A tool of an agent over an effect of the service: decodes what the model sent, and answers in text. */
import { Effect, Schema } from "effect"
import type { Refusal } from "#core/refusal.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"
import { type ServiceTool, type ToolAnswer, TurnInterrupted } from "#core/wire/turn.ts"

export const serviceTool = <Input>(
  name: string,
  description: string,
  input: Schema.Codec<Input, unknown>,
  call: (input: Input, callId: string) => Effect.Effect<string, Refusal | DatabaseUnavailable>,
): ServiceTool => {
  const decode = Schema.decodeUnknownEffect(input)
  const { schema } = Schema.toJsonSchemaDocument(input)
  return {
    name,
    description,
    inputSchema: schema,
    call: Effect.fnUntraced(function* (given: unknown, callId: string) {
      const decoded = yield* Effect.result(decode(given, { errors: "all" }))
      if (decoded._tag === "Failure") return { _tag: "Failed", message: decoded.failure.message } satisfies ToolAnswer
      return yield* call(decoded.success, callId).pipe(
        Effect.map((text): ToolAnswer => ({ _tag: "Done", text })),
        Effect.catchTags({
          Refusal: ({ message }) => Effect.succeed<ToolAnswer>({ _tag: "Failed", message }),
          DatabaseUnavailable: ({ message }) => new TurnInterrupted({ reason: "unavailable", message }),
        }),
      )
    }),
  }
}
