/** Brings the session to where the model can be asked: what a lost worker left, and what the agent is told. */
import { Effect } from "effect"
import type { ModelCall } from "#core/wire/model.ts"
import type { SessionEntry, TurnEvent } from "#core/wire/turn.ts"
import { turnEnd, turnIdOf } from "#sandbox-agent/turn/ask.ts"
import { carryOut } from "#sandbox-agent/turn/calls.ts"
import type { Turn } from "#sandbox-agent/turn/context.ts"
import { changing } from "#sandbox-agent/turn/files/effect.ts"
import { removeLeftovers } from "#sandbox-agent/turn/files/tree.ts"
import { cutOff, notRun } from "#sandbox-agent/turn/prompts.ts"
import { type CallState, exchanges, openCalls, wasTold } from "#sandbox-agent/turn/session.ts"
import { isSuppressed } from "#sandbox-agent/turn/tools.ts"

/** The requests that the turn still waits for; empty where the model can be asked. */
export const resume = Effect.fnUntraced(function* (turn: Turn) {
  const task = turn.world.redact(turn.request.task)
  const entries = turn.entries()
  const told = wasTold(entries, task)
  const open = openCalls(entries)
  if (open.length > 0) {
    const requestIds = yield* finishCalls(turn, open, told)
    if (requestIds.length > 0) return requestIds
  }
  if (told) return []
  const tools = turn.tools.offered.map(({ name }) => name)
  const first = entries.length === 0 ? [{ type: "agent.tools", payload: { tools } }] : []
  yield* turn.tell(first, [{ kind: "message", message: { role: "user", text: task } }])
  return []
})

/** `goesOn`: the agent is still at the task that the calls were made for. */
const finishCalls = Effect.fnUntraced(function* (turn: Turn, open: ReadonlyArray<CallState>, goesOn: boolean) {
  const turnId = turnIdOf(exchanges(turn.entries()))
  const lost = open.filter(({ started }) => started)
  const waiting = open.filter(({ started }) => !started)
  if (lost.length > 0) {
    yield* Effect.ignore(changing(() => removeLeftovers(turn.request.workingDirectory)))
  }
  const closed = [
    ...lost.map(({ call }) => [call, cutOff] as const),
    ...(goesOn ? [] : waiting.map(({ call }) => [call, notRun] as const)),
  ]
  const ends = !goesOn || waiting.length === 0
  yield* turn.tell(
    [...closed.flatMap(([call, text]) => errorEvents(call, text)), ...(ends ? [turnEnd(turnId)] : [])],
    closed.map(([call, text]): SessionEntry => ({ kind: "call_result", call, text, isError: true })),
  )
  if (ends) return []
  return yield* carryOut(
    turn,
    turnId,
    waiting.map(({ call }) => ({ call, stored: call, onlyNow: false })),
  )
})

const errorEvents = ({ callId, toolName }: ModelCall, errorMessage: string): ReadonlyArray<TurnEvent> =>
  isSuppressed(toolName) ? [] : [{ type: "tool.error", payload: { callId, errorMessage } }]
