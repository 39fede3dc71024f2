/** Carries out the calls of one answer, in order. Each is done at most once, whoever is lost in between. */
import { Effect } from "effect"
import type { SessionEntry, TurnEvent } from "#core/wire/turn.ts"
import { readArguments } from "#sandbox-agent/turn/arguments.ts"
import { type Asked, turnEnd } from "#sandbox-agent/turn/ask.ts"
import type { Turn } from "#sandbox-agent/turn/context.ts"
import { cutMiddle } from "#sandbox-agent/turn/cut.ts"
import { cannotWait, sameAgain } from "#sandbox-agent/turn/prompts.ts"
import { failuresInARow } from "#sandbox-agent/turn/session.ts"
import { failed, type Performed, type Tool } from "#sandbox-agent/turn/tool.ts"
import { isSuppressed } from "#sandbox-agent/turn/tools.ts"

/** Characters of a result that its event shows. */
const maxTold = 16_384
/** Of what a model can read, for one result. */
const resultShare = 0.25
const charactersPerToken = 4
/** Failures of the same call from which on the model is told. */
const repeated = 3

/** The requests that people have to decide about before the calls can go on; empty where all were done. */
export const carryOut = Effect.fnUntraced(function* (turn: Turn, turnId: string, asked: ReadonlyArray<Asked>) {
  for (const [index, one] of asked.entries()) {
    const performed = yield* perform(turn, one)
    const { answer } = performed
    if (answer._tag === "Waits" && !one.onlyNow) return [answer.requestId]
    const settled = answer._tag === "Waits" ? failed(cannotWait) : performed
    yield* settle(turn, one, settled, index === asked.length - 1 ? [turnEnd(turnId)] : [])
  }
  return []
})

const perform = Effect.fnUntraced(function* (turn: Turn, asked: Asked) {
  const { world, request } = turn
  const { callId, toolName } = asked.call
  const tool = turn.tools.find(toolName)
  if (tool === undefined) return failed(noSuchTool(turn, toolName))
  const given = readArguments(asked.call.arguments)
  if (given._tag === "Unreadable") return failed(`The arguments of ${toolName} cannot be read. ${given.problem}`)
  const verdict = yield* world.permit({ callId, toolName, arguments: given.value })
  switch (verdict._tag) {
    case "Waits": {
      const waits: Performed = { answer: verdict, events: [] }
      return waits
    }
    case "Refused":
      return failed(`Refused: ${verdict.reason}`, toolName === "run_command" ? [denied] : [])
    case "Allowed":
      return yield* call(turn, tool, asked, tool.call(given.value, { callId, request, world }))
  }
})

const call = Effect.fnUntraced(function* <E>(turn: Turn, tool: Tool, asked: Asked, work: Effect.Effect<Performed, E>) {
  const { callId } = asked.call
  const marked = tool.hasEffect && !asked.onlyNow
  if (marked) yield* turn.tell([], [{ kind: "call_started", callId }])
  const performed = yield* work
  if (marked && performed.answer._tag === "Waits") yield* turn.tell([], [{ kind: "call_waits", callId }])
  return performed
})

/** A command that was not allowed to run ended with -1. */
const denied: TurnEvent = {
  type: "tool.exec_result",
  payload: { exit_code: -1, timed_out: false, output_truncated: false },
}

const noSuchTool = ({ tools }: Turn, name: string): string =>
  `There is no tool ${JSON.stringify(name)}. There are: ${tools.offered.map((tool) => tool.name).join(", ")}.`

const settle = (turn: Turn, { stored }: Asked, { answer, events }: Performed, after: ReadonlyArray<TurnEvent>) => {
  const { callId, toolName } = stored
  const isError = answer._tag !== "Done"
  const text = turn.world.redact(answer._tag === "Done" ? answer.text : answer._tag === "Failed" ? answer.message : "")
  const told = cutMiddle(text, maxTold)
  const event: TurnEvent = isError
    ? { type: "tool.error", payload: { callId, errorMessage: told } }
    : { type: "tool.result", payload: { callId, content: told } }
  const times = isError ? failuresInARow(turn.entries(), stored) + 1 : 0
  const forModel = cutMiddle(text, resultLimit(turn))
  const entry: SessionEntry = {
    kind: "call_result",
    call: stored,
    text: times >= repeated ? `${forModel}\n${sameAgain(times)}` : forModel,
    isError,
  }
  return turn.tell([...events, ...(isSuppressed(toolName) ? [] : [event]), ...after], [entry])
}

/** Characters of a result that the model gets. */
const resultLimit = ({ request, world }: Turn): number => {
  const { contextTokens } = world.limits(request.source, request.modelId)
  const share = Math.floor(contextTokens * resultShare * charactersPerToken)
  return Math.max(1_000, Math.min(request.maxOutputBytes, share))
}
