/** What a tool of the engine is: its schema for the model, and what a call of it does. */
import { Effect, Result, Schema, SchemaIssue } from "effect"
import type { ToolAnswer, TurnEvent, TurnInterrupted, TurnRequest, TurnWorld } from "#core/wire/turn.ts"
import type { FileRefused } from "#sandbox-agent/turn/files/refused.ts"

/** What a call has at hand. */
export interface ToolUse {
  readonly callId: string
  readonly request: TurnRequest
  readonly world: TurnWorld
}

/** `events` are told together with the result. */
export interface Performed {
  readonly answer: ToolAnswer
  readonly events: ReadonlyArray<TurnEvent>
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly inputSchema: unknown
  /** Called twice it may do something twice: its start is stored before it begins. */
  readonly hasEffect: boolean
  /** `input` is JSON, not yet checked. */
  readonly call: (input: unknown, use: ToolUse) => Effect.Effect<Performed, TurnInterrupted>
}

interface ToolSpec<A> {
  readonly name: string
  readonly description: string
  readonly input: Schema.Codec<A, unknown>
  readonly hasEffect: boolean
  readonly run: (input: A, use: ToolUse) => Effect.Effect<Performed, FileRefused | TurnInterrupted>
}

export const defineTool = <A>(spec: ToolSpec<A>): Tool => {
  const decode = Schema.decodeUnknownResult(spec.input, { errors: "all" })
  return {
    name: spec.name,
    description: spec.description,
    inputSchema: Schema.toJsonSchemaDocument(spec.input).schema,
    hasEffect: spec.hasEffect,
    call: (input, use) => {
      const decoded = decode(withoutNulls(input))
      if (Result.isFailure(decoded)) return Effect.succeed(failed(problems(spec.name, decoded.failure.issue)))
      return spec
        .run(decoded.success, use)
        .pipe(Effect.catchTag("FileRefused", ({ message }) => Effect.succeed(failed(message))))
    },
  }
}

export const done = (text: string, events: ReadonlyArray<TurnEvent> = []): Performed => ({
  answer: { _tag: "Done", text },
  events,
})

export const failed = (message: string, events: ReadonlyArray<TurnEvent> = []): Performed => ({
  answer: { _tag: "Failed", message },
  events,
})

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const problems = (name: string, issue: SchemaIssue.Issue): string => {
  const lines = format(issue).issues.map(({ path, message }) => `- ${(path ?? []).map(String).join(".")}: ${message}`)
  return `The arguments of ${name} do not fit:\n${lines.join("\n")}`
}

/** Many models send null for what they leave out. */
const withoutNulls = (input: unknown): unknown =>
  typeof input === "object" && input !== null && !Array.isArray(input)
    ? Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))
    : input
