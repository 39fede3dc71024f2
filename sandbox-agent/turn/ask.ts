/** One exchange with the model: what it is sent, and its answer as it is stored and told. */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import type { ModelCall, ModelFailed, ModelRequest } from "#core/wire/model.ts"
import type { SessionEntry, TurnEvent } from "#core/wire/turn.ts"
import { cleanArguments, toldArguments } from "#sandbox-agent/turn/arguments.ts"
import { fittingMessages } from "#sandbox-agent/turn/compaction.ts"
import type { Turn } from "#sandbox-agent/turn/context.ts"
import { charactersOf } from "#sandbox-agent/turn/messages.ts"
import { goOn } from "#sandbox-agent/turn/prompts.ts"
import { exchanges } from "#sandbox-agent/turn/session.ts"
import { contextEvents, systemOf } from "#sandbox-agent/turn/sizes.ts"
import { type Answer, listen, refusedByFilter, usageEvent } from "#sandbox-agent/turn/stream.ts"
import { isSuppressed } from "#sandbox-agent/turn/tools.ts"

/** A call as the model wrote it, and as it is stored. */
export interface Asked {
  readonly call: ModelCall
  readonly stored: ModelCall
  /** What is stored is not what the model wrote: it can be done now, and not later. */
  readonly onlyNow: boolean
}

export interface Exchange {
  readonly text: string
  readonly asked: ReadonlyArray<Asked>
  /** The answer was cut, and the model is asked to go on. */
  readonly goesOn: boolean
}

/** Counts the answers of the model in the run, from 1: the same for every worker, so that each turn ends once. */
export const turnIdOf = (answer: number): string => `turn-${answer}`

export const turnEnd = (turnId: string): TurnEvent => ({ type: "agent.turn.end", payload: { turnId } })

/** Its answer is stored when this ends, together with what is told of it. */
export const askModel = Effect.fnUntraced(function* (turn: Turn, turnId: string) {
  const { world } = turn
  yield* turn.tell([{ type: "agent.turn.start", payload: { turnId } }, ...contextEvents(turn)], [])
  const messageId = randomUUID()
  const attempt = (must: boolean) =>
    Effect.gen(function* () {
      const request = yield* requestOf(turn, must)
      return { request, answer: yield* listen(world, request, messageId) }
    })
  const { request, answer } = yield* attempt(false).pipe(
    Effect.catchTag("ModelFailed", (failure) => (failure.kind === "TooLong" ? attempt(true) : Effect.fail(failure))),
    Effect.tapError((error) => (error._tag === "ModelFailed" ? turn.tell([turnEnd(turnId)], []) : Effect.void)),
  )
  count(turn, request, answer)
  if (answer.finish.reason === "content_filter") return yield* filtered(turn, answer, turnId)
  const asked = askedOf(turn, answer)
  const goesOn = answer.finish.reason === "length" && asked.length === 0 && !wasAskedToGoOn(turn.entries())
  const { opaque } = answer.finish
  const said: SessionEntry = {
    kind: "message",
    message: {
      role: "assistant",
      text: answer.text,
      calls: asked.map(({ stored }) => stored),
      ...(opaque === undefined ? {} : { opaque }),
    },
  }
  yield* turn.tell(
    [
      ...(answer.text === "" ? [] : [{ type: "agent.message", payload: { messageId, content: answer.text } }]),
      usageEvent(answer.finish),
      ...asked.flatMap(({ call }) => (isSuppressed(call.toolName) ? [] : [callEvent(turn, call)])),
      ...(asked.length === 0 ? [turnEnd(turnId)] : []),
    ],
    [
      said,
      // a worker that finds this later must not do what the model never wrote
      ...asked.flatMap(
        ({ call, onlyNow }): ReadonlyArray<SessionEntry> =>
          onlyNow ? [{ kind: "call_started", callId: call.callId }] : [],
      ),
      ...(goesOn ? [{ kind: "message", message: { role: "user", text: goOn } } as const] : []),
    ],
  )
  const exchange: Exchange = { text: answer.text, asked, goesOn }
  return exchange
})

const requestOf = Effect.fnUntraced(function* (turn: Turn, must: boolean) {
  const { request, world } = turn
  const messages = yield* fittingMessages(turn, must)
  const { outputTokens } = world.limits(request.source, request.modelId)
  const asked: ModelRequest = {
    source: request.source,
    modelId: request.modelId,
    system: systemOf(turn),
    messages,
    tools: turn.tools.offered,
    maxOutputTokens: outputTokens,
    labels: {
      runId: request.runId,
      projectId: request.projectId,
      agentName: request.agentName,
      purpose: "turn",
      step: exchanges(turn.entries()),
    },
  }
  return asked
})

/** Providers count otherwise than by characters: the next estimate knows how. */
const count = ({ density }: Turn, request: ModelRequest, { finish }: Answer): void => {
  const { inputTokens } = finish.usage
  if (inputTokens <= 0) return
  const sent = request.system.length + charactersOf(request.messages) + JSON.stringify(request.tools).length
  density.tokensPerCharacter = Math.min(1, Math.max(leastDensity, inputTokens / sent))
}

/** No text has fewer tokens in a character; a smaller number is a provider that does not count. */
const leastDensity = 0.1

const filtered = (turn: Turn, { finish }: Answer, turnId: string): Effect.Effect<never, ModelFailed | Interrupted> =>
  Effect.andThen(turn.tell([usageEvent(finish), turnEnd(turnId)], []), Effect.fail(refusedByFilter()))

type Interrupted = Effect.Error<ReturnType<Turn["tell"]>>

const askedOf = ({ world, entries }: Turn, { calls }: Answer): ReadonlyArray<Asked> => {
  const taken = new Set(
    entries().flatMap((entry) =>
      entry.kind === "message" && entry.message.role === "assistant"
        ? entry.message.calls.map(({ callId }) => callId)
        : [],
    ),
  )
  return calls.map((written) => {
    const callId = freeId(written.callId, taken)
    taken.add(callId)
    const call = { ...written, callId, toolName: sendable(world.redact(written.toolName)) || "unknown" }
    const stored = { ...call, arguments: cleanArguments(call.arguments, world.redact) }
    return { call, stored, onlyNow: stored.arguments !== call.arguments }
  })
}

/** Characters of an id, and of a tool's name. */
const longest = 64

/** As every provider takes it back: with one `functions.read_file` in it a session could never be sent again. */
const sendable = (written: string): string => written.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, longest)

/** Providers may repeat their ids; within a run each call has its own. */
const freeId = (written: string, taken: ReadonlySet<string>): string => {
  const id = sendable(written) || "call"
  let free = id
  for (let number = 2; taken.has(free); number += 1) {
    const suffix = `-${number}`
    free = id.slice(0, longest - suffix.length) + suffix
  }
  return free
}

const wasAskedToGoOn = (entries: ReadonlyArray<SessionEntry>): boolean => {
  const last = entries.at(-1)
  return last?.kind === "message" && last.message.role === "user" && last.message.text === goOn
}

const callEvent = ({ world }: Turn, { callId, toolName, arguments: given }: ModelCall): TurnEvent => ({
  type: "tool.call",
  payload: { callId, toolName, arguments: toldArguments(given, world.redact) },
})
