/**
 * What a script answers to a request: decided by the request alone, so that a run that goes on elsewhere, or is
 * asked again, gets the same. Pure.
 */
import { Result } from "effect"
import { type ModelCall, ModelFailed, type ModelPart, type ModelRequest } from "#core/wire/model.ts"
import type { Answer, Script, ScriptRole, When } from "#runtime/model/scripted/script.ts"
import { fill, lastResult } from "#runtime/model/scripted/template.ts"

/** How many tokens so many characters are taken for. */
const charactersPerToken = 4

export const play = (script: Script, request: ModelRequest): Result.Result<ReadonlyArray<ModelPart>, ModelFailed> => {
  const { labels } = request
  const place = `${labels.agentName ?? "no agent"}, ${labels.purpose}, step ${labels.step}`
  const missing = (message: string) => new ModelFailed({ kind: "Configuration", retryable: false, message })
  const role = script.roles.find((known) => fits(known, request))
  if (role === undefined) return Result.fail(missing(`The script has no role for ${place}.`))
  const alternatives = role.steps[labels.step] ?? (role.repeat === true ? role.steps.at(-1) : undefined)
  if (alternatives === undefined) {
    return Result.fail(missing(`The role on line ${role.line} of the script has no step for ${place}.`))
  }
  const answer = alternatives.find(({ when }) => holds(when, request))
  if (answer === undefined) {
    return Result.fail(missing(`The role on line ${role.line} of the script has no answer that fits ${place}.`))
  }
  return answer.fail === undefined
    ? Result.succeed(partsOf(answer, request, script.chunk))
    : Result.fail(
        new ModelFailed({
          kind: answer.fail.kind,
          message: answer.fail.message ?? `The script says so for ${place}.`,
          retryable: answer.fail.kind === "RateLimited" || answer.fail.kind === "ProviderUnavailable",
        }),
      )
}

const among = (names: string | ReadonlyArray<string>, name: string | null): boolean =>
  typeof names === "string" ? names === name : name !== null && names.includes(name)

const fits = ({ agent, purpose = "turn", when }: ScriptRole, request: ModelRequest): boolean =>
  (agent === undefined || among(agent, request.labels.agentName)) &&
  among(purpose, request.labels.purpose) &&
  holds(when, request)

const holds = (when: When | undefined, request: ModelRequest): boolean => {
  if (when === undefined) return true
  const said = request.messages.flatMap((message) => (message.role === "user" ? [message.text] : []))
  const result = lastResult(request)
  return (
    (when.attempt === undefined || when.attempt === said.length) &&
    (when.task === undefined || said[0]?.includes(when.task) === true) &&
    (when.said === undefined || said.at(-1)?.includes(when.said) === true) &&
    (when.result === undefined || result?.text.includes(when.result) === true) &&
    (when.failed === undefined || result?.isError === when.failed)
  )
}

const partsOf = (answer: Answer, request: ModelRequest, chunk: number): ReadonlyArray<ModelPart> => {
  const said = [
    ...(answer.say === undefined ? [] : [String(fill(answer.say, request))]),
    ...(answer.json === undefined ? [] : [JSON.stringify(fill(answer.json, request))]),
  ].join("\n")
  const calls = callsOf(answer, request)
  const written = calls.reduce((sum, call) => sum + call.arguments.length, said.length)
  const read = JSON.stringify([request.system, request.messages, request.tools]).length
  const inputTokens = Math.ceil(read / charactersPerToken)
  const outputTokens = Math.ceil(written / charactersPerToken)
  return [
    ...piecesOf(said, chunk).map((delta): ModelPart => ({ kind: "text", delta })),
    ...calls.map((call): ModelPart => ({ kind: "call", call })),
    {
      kind: "finish",
      reason: answer.finish ?? (calls.length > 0 ? "tool_calls" : "stop"),
      usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, totalNanoAiu: 0 },
      modelId: "scripted",
      timeToFirstTokenMs: null,
    },
  ]
}

const callsOf = ({ calls = [], outcome }: Answer, request: ModelRequest): ReadonlyArray<ModelCall> => {
  const all = outcome === undefined ? calls : [...calls, { tool: "report_outcome", arguments: outcome }]
  return all.map(({ tool, arguments: input = {} }, index) => ({
    callId: `scripted_${request.labels.step}_${index}`,
    toolName: tool,
    arguments: typeof input === "string" ? input : JSON.stringify(fill(input, request)),
  }))
}

/** By characters as people see them, so that none is torn. */
export const piecesOf = (text: string, size: number): ReadonlyArray<string> => {
  const characters = [...text]
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, index) =>
    characters.slice(index * size, (index + 1) * size).join(""),
  )
}
