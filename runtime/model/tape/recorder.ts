/** Writes what is asked and answered to a tape, each exchange when it ends; one that is given up is not written. */
import { appendFile, mkdir, open, readFile } from "node:fs/promises"
import { dirname } from "node:path"
import { Effect, Exit, Schema, Semaphore, Stream } from "effect"
import { canonicalJson } from "#core/canonical-json.ts"
import { redact } from "#core/redaction.ts"
import type { ModelFailed, ModelLimits, ModelPart, ModelRequest } from "#core/wire/model.ts"
import { type Exchange, Header, Line, nameOfValue } from "#runtime/model/tape/form.ts"
import { mapTexts, type Names } from "#runtime/model/tape/names.ts"
import { tapedRequest } from "#runtime/model/tape/request.ts"

interface RecorderOptions {
  readonly path: string
  /** The version of the service. */
  readonly madeBy: string
  readonly names: Readonly<Record<string, string>>
}

export type RecordExchange = (
  request: ModelRequest,
  limits: ModelLimits,
  stream: Stream.Stream<ModelPart, ModelFailed>,
) => Stream.Stream<ModelPart, ModelFailed>

const readLine = Schema.decodeUnknownSync(Schema.fromJsonString(Line))

/** A tape that is there is written on. One replica writes it. */
export const makeRecorder = ({ path, madeBy, names }: RecorderOptions): RecordExchange => {
  const one = Semaphore.makeUnsafe(1)
  let written: Set<string> | undefined

  const begin = async (): Promise<Set<string>> => {
    await mkdir(dirname(path), { recursive: true })
    const file = await open(path, "a", 0o600)
    await file.close()
    const lines = (await readFile(path, "utf8"))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => readLine(line))
    if (lines.length === 0) await appendFile(path, `${canonicalJson(Header.make({ tape: 1, madeBy }))}\n`)
    return new Set(lines.flatMap((line) => ("value" in line ? [line.value] : [])))
  }

  const append = async (request: ModelRequest, limits: ModelLimits, answer: (names: Names) => Exchange["answer"]) => {
    written ??= await begin()
    const known = written
    const taped = tapedRequest(request, names)
    const lines: Array<unknown> = []
    const refer = (value: unknown): string => {
      const name = nameOfValue(value)
      if (!known.has(name)) lines.push({ value: name, is: value })
      known.add(name)
      return name
    }
    const { system, tools, messages, maxOutputTokens } = taped.request
    const { runId, agentName, purpose, step } = request.labels
    const exchange: Exchange = {
      ...{ run: runId, agent: agentName, purpose, step, limits },
      source: request.source,
      model: request.modelId,
      request: { system: refer(system), tools: refer(tools), messages: messages.map(refer), maxOutputTokens },
      answer: answer(taped.names),
    }
    await appendFile(path, [...lines, exchange].map((line) => `${canonicalJson(line)}\n`).join(""))
  }

  const write = (request: ModelRequest, limits: ModelLimits, answer: (names: Names) => Exchange["answer"]) =>
    Effect.tryPromise(() => append(request, limits, answer)).pipe(
      one.withPermit,
      Effect.catch(({ cause }) => Effect.logError("The tape cannot be written", cause)),
    )

  return (request, limits, stream) =>
    Stream.suspend(() => {
      const parts: Array<ModelPart> = []
      return stream.pipe(
        Stream.tap((part) => Effect.sync(() => parts.push(part))),
        Stream.tapError((failed) => {
          const { kind, retryable } = failed
          return write(request, limits, () => ({ failed: { kind, retryable, message: redact(failed.message) } }))
        }),
        Stream.onExit((exit) =>
          Exit.isSuccess(exit) && parts.at(-1)?.kind === "finish"
            ? write(request, limits, ({ hideKnown }) => ({ parts: tapedParts(parts, hideKnown) }))
            : Effect.void,
        ),
      )
    })
}

/** A text stays in the pieces it came in, unless a secret or a name would be hidden in it. */
export const tapedParts = (
  parts: ReadonlyArray<ModelPart>,
  hide: (text: string) => string,
): ReadonlyArray<ModelPart> => {
  const clean = (text: string): string => hide(redact(text))
  const said = parts.map((part) => (part.kind === "text" ? part.delta : "")).join("")
  const asItWas = clean(said) === said
  const rest = parts.filter((part) => part.kind !== "text" || asItWas)
  // parts keep their form: only texts within them change
  const cleaned = rest.map((part) => (part.kind === "text" ? part : (mapTexts(part, clean) as ModelPart)))
  return asItWas ? cleaned : [{ kind: "text", delta: clean(said) }, ...cleaned]
}
