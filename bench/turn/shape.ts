/** The work whose cost is measured: answers of a model that calls tools, the same for every way to ask it. */
import type { ModelPart } from "#core/wire/model.ts"
import type { ChatReply } from "#test/fakes/openai-server.ts"

export interface Shape {
  readonly name: string
  /** Answers with calls; one more, without, ends the work. */
  readonly turns: number
  readonly calls: number
  readonly tool: string
  readonly input: object
}

const read = { tool: "read_file", input: { path: "README.md" } }

export const shapesOf = (quick: boolean) => {
  const turns = quick ? 20 : 100
  return {
    one: { name: "one-call", turns, calls: 1, ...read },
    five: { name: "five-calls", turns, calls: 5, ...read },
    command: { name: "one-command", turns: quick ? 5 : 30, calls: 1, tool: "run_command", input: { command: "true" } },
  } as const satisfies Record<string, Shape>
}

const said = "I look."

/** `answered`: results of tools that the model has seen. */
const callsAt = ({ turns, calls, tool, input }: Shape, answered: number) =>
  answered >= turns * calls ? [] : Array.from({ length: calls }, () => ({ name: tool, arguments: input }))

export const replyAt = (shape: Shape, answered: number): ChatReply => ({ text: said, calls: callsAt(shape, answered) })

export const partsAt = (shape: Shape, step: number): ReadonlyArray<ModelPart> => {
  const calls = callsAt(shape, step * shape.calls)
  return [
    { kind: "text", delta: said },
    ...calls.map(
      ({ name, arguments: input }, index): ModelPart => ({
        kind: "call",
        call: { callId: `call-${step}-${index}`, toolName: name, arguments: JSON.stringify(input) },
      }),
    ),
    {
      kind: "finish",
      reason: calls.length > 0 ? "tool_calls" : "stop",
      usage: { inputTokens: 12, outputTokens: 5, totalTokens: 17, totalNanoAiu: 0 },
      modelId: "bench",
      timeToFirstTokenMs: null,
    },
  ]
}

/** The same for the source `scripted`: YAML, of which JSON is a part. */
export const scriptOf = (shapes: ReadonlyArray<Shape>): string =>
  JSON.stringify({
    script: 1,
    roles: shapes.map((shape) => ({
      when: { task: shape.name },
      steps: Array.from({ length: shape.turns + 1 }, (_, step) => ({
        say: said,
        calls: callsAt(shape, step * shape.calls).map(({ name, arguments: input }) => ({
          tool: name,
          arguments: input,
        })),
      })),
    })),
  })
