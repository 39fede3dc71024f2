/**
 * The turn engine: one piece of work of an agent, from its task to its last word. It asks the model, carries out
 * its calls, and goes on until the model calls nothing more, a bound is reached, or a person has to decide.
 *
 * What has happened is in the session before anything follows from it: a turn that was cut off anywhere is run again
 * with the same request and goes on from there. No tool that has an effect is run twice for one call.
 */
import { Duration, Effect, Option } from "effect"
import type { ModelFailed } from "#core/wire/model.ts"
import type { TurnInterrupted, TurnOutcome, TurnRequest, TurnWorld } from "#core/wire/turn.ts"
import { askModel, turnIdOf } from "#sandbox-agent/turn/ask.ts"
import { carryOut } from "#sandbox-agent/turn/calls.ts"
import { openTurn, type Turn } from "#sandbox-agent/turn/context.ts"
import { resume } from "#sandbox-agent/turn/resume.ts"
import { exchanges, lastWord, reportedOutcome, sinceTask } from "#sandbox-agent/turn/session.ts"

export const runTurn: (
  request: TurnRequest,
  world: TurnWorld,
) => Effect.Effect<TurnOutcome, ModelFailed | TurnInterrupted> = Effect.fn("turn.run")(function* (request, world) {
  const turn = yield* openTurn(request, world)
  const inTime = yield* Effect.timeoutOption(work(turn), Duration.minutes(request.bounds.maxMinutes))
  return Option.isSome(inTime) ? inTime.value : yield* bounded(turn, "max_minutes")
})

const work = Effect.fnUntraced(function* (turn: Turn) {
  const before = yield* resume(turn)
  if (before.length > 0) return waiting(turn, before)
  const last = lastWord(turn.entries())
  // a worker before this one was lost after the last word
  if (last !== undefined && !(yield* turn.hear)) return finished(turn, last)
  while (stepsOf(turn) < turn.request.bounds.maxSteps) {
    yield* turn.hear
    const turnId = turnIdOf(exchanges(turn.entries()) + 1)
    const { asked, text, goesOn } = yield* askModel(turn, turnId)
    if (asked.length > 0) {
      const requestIds = yield* carryOut(turn, turnId, asked)
      if (requestIds.length > 0) return waiting(turn, requestIds)
    } else if (!goesOn && !(yield* turn.hear)) {
      return finished(turn, text)
    }
  }
  return yield* bounded(turn, "max_steps")
})

/** Exchanges with the model since the agent was told what it is at. */
const stepsOf = (turn: Turn): number => exchanges(sinceTask(turn.entries()))

const finished = (turn: Turn, message: string): TurnOutcome => ({
  _tag: "Finished",
  steps: stepsOf(turn),
  message,
  outcome: reportedOutcome(turn.entries()),
})

const waiting = (turn: Turn, requestIds: ReadonlyArray<string>): TurnOutcome => ({
  _tag: "Waiting",
  steps: stepsOf(turn),
  requestIds,
})

const bounded = Effect.fnUntraced(function* (turn: Turn, limit: "max_steps" | "max_minutes") {
  const steps = stepsOf(turn)
  yield* turn.tell([{ type: "run.bounded", payload: { limit_type: limit, step_count: steps } }], [])
  const outcome: TurnOutcome = { _tag: "Bounded", steps, limit }
  return outcome
})
