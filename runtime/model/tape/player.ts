/**
 * Answers from a tape. Each run is taken for one of the recorded ones: the first whose exchange of the same
 * purpose, step and agent had the same request. From then on it gets the answers of that one; a request that
 * differs is not answered.
 */
import { readFile } from "node:fs/promises"
import { Effect, Result, Schema, Stream } from "effect"
import { ModelFailed, type ModelLimits, type ModelPart, type ModelRequest } from "#core/wire/model.ts"
import { firstDifference } from "#runtime/model/tape/difference.ts"
import { type Exchange, Line, nameOfValue } from "#runtime/model/tape/form.ts"
import { mapTexts } from "#runtime/model/tape/names.ts"
import { type TapedRequest, tapedRequest } from "#runtime/model/tape/request.ts"

export interface Player {
  readonly stream: (request: ModelRequest) => Stream.Stream<ModelPart, ModelFailed>
  /** Of the model that was recorded first, so that what was summed up then is summed up now. */
  readonly limits: ModelLimits | undefined
}

export interface Tape {
  readonly values: ReadonlyMap<string, unknown>
  readonly exchanges: ReadonlyArray<Exchange>
}

const readLine = Schema.decodeUnknownResult(Schema.fromJsonString(Line))

const failed = (kind: "Configuration" | "Diverged", message: string) =>
  new ModelFailed({ kind, message, retryable: false })

export const readTape = Effect.fnUntraced(function* (path: string) {
  const text = yield* Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: () => failed("Configuration", `The tape ${path} cannot be read.`),
  })
  const values = new Map<string, unknown>()
  const exchanges: Array<Exchange> = []
  for (const [index, line] of text.split("\n").entries()) {
    if (line === "") continue
    const read = readLine(line)
    if (Result.isFailure(read) || (index === 0 && !("tape" in read.success))) {
      return yield* failed("Configuration", `Line ${index + 1} of the tape ${path} is no line of a tape of version 1.`)
    }
    if ("value" in read.success) values.set(read.success.value, read.success.is)
    else if ("run" in read.success) exchanges.push(read.success)
  }
  return { values, exchanges } satisfies Tape
})

export const makePlayer = (tape: Tape, fixed: Readonly<Record<string, string>>): Player => {
  /** Recorded run by live run. */
  const bound = new Map<string, string>()

  const find = (request: ModelRequest, taped: TapedRequest): Result.Result<Exchange, ModelFailed> => {
    const { runId, agentName, purpose, step } = request.labels
    const own = bound.get(runId)
    const taken = new Set(bound.values())
    const place = `${agentName ?? "no agent"}, ${purpose}, step ${step}`
    const candidates = tape.exchanges.filter(
      (exchange) =>
        exchange.purpose === purpose &&
        exchange.step === step &&
        exchange.agent === agentName &&
        (own === undefined ? !taken.has(exchange.run) : exchange.run === own),
    )
    const found = candidates.find(({ request: recorded }) => isSame(recorded, taped))
    if (found !== undefined) {
      bound.set(runId, found.run)
      return Result.succeed(found)
    }
    const nearest = candidates[0]
    if (nearest === undefined) return Result.fail(failed("Diverged", `The tape has no exchange for ${place}.`))
    const difference = firstDifference(requestOf(nearest, tape.values), taped)
    const { path, expected, actual } = difference ?? { path: "the request", expected: "", actual: "" }
    return Result.fail(
      failed(
        "Diverged",
        `The request of ${place} is not the recorded one. ${path}: expected ${expected}, got ${actual}.`,
      ),
    )
  }

  return {
    limits: tape.exchanges[0]?.limits,
    stream: (request) =>
      Stream.suspend(() => {
        const { request: taped, names } = tapedRequest(request, fixed)
        const found = find(request, taped)
        if (Result.isFailure(found)) return Stream.fail(found.failure)
        const { answer } = found.success
        if ("failed" in answer) return Stream.fail(new ModelFailed(answer.failed))
        // parts keep their form: only texts within them change
        const parts = answer.parts.map((part) => mapTexts(part, names.show) as ModelPart)
        return Stream.fromIterable(parts, { chunkSize: 1 })
      }),
  }
}

const isSame = (recorded: Exchange["request"], live: TapedRequest): boolean =>
  recorded.system === nameOfValue(live.system) &&
  recorded.tools === nameOfValue(live.tools) &&
  recorded.maxOutputTokens === live.maxOutputTokens &&
  recorded.messages.length === live.messages.length &&
  recorded.messages.every((name, index) => name === nameOfValue(live.messages[index]))

const requestOf = ({ request }: Exchange, values: ReadonlyMap<string, unknown>): TapedRequest => ({
  system: values.get(request.system),
  messages: request.messages.map((name) => values.get(name)),
  tools: values.get(request.tools),
  maxOutputTokens: request.maxOutputTokens,
})
