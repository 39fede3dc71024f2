/** The agent works: one turn after another, until it stops, is stopped, or waits for a person. */
import { Effect } from "effect"
import { Checkouts } from "#core/ports/checkouts.ts"
import { redact } from "#core/redaction.ts"
import { makeSessionStore } from "#core/run/session.ts"
import { effectivePolicy } from "#core/sandbox-policy/stored-policy.ts"
import { Sql } from "#core/sql.ts"
import { TurnInterrupted } from "#core/wire/turn.ts"
import { bounded, checkoutFailure, contextFailure, type Failure, modelFailure } from "#runtime/runs/failure.ts"
import { onward, type StepInput, type Stepped } from "#runtime/runs/held.ts"
import { stepEvent } from "#runtime/runs/step-event.ts"
import { turnRequest } from "#runtime/runs/turn-request.ts"
import { makeWorld } from "#runtime/runs/world.ts"
import { runTurn } from "#sandbox-agent/turn/turn.ts"

const place = (run: StepInput["run"]) => ({ runId: run.runId, repository: run.repository ?? "" })

export const turn = Effect.fn("runs.turn")(function* ({ run, work, held }: StepInput) {
  const checkouts = yield* Checkouts
  const ended = Effect.fnUntraced(function* (failure: Failure) {
    yield* held.write({ events: [yield* stepEvent(run, "agent", "failed", failure.message)], command: failure })
    return onward
  })
  const worked = Effect.gen(function* () {
    if (yield* isAnswered(run.runId, work.instruction ?? run.task)) {
      // the worker before this one was lost after the last word of the agent
      yield* held.write({ work: { stage: "inspect", instruction: null } })
      return onward
    }
    const checkout = yield* checkouts.open(place(run))
    const policy = yield* effectivePolicy(checkout.repository)
    const request = yield* turnRequest({ run, work, held, checkout, policy: policy.policy })
    if (!request.resumes || work.instruction !== null) {
      yield* held.write({ events: [yield* stepEvent(run, "agent", "started")] })
    }
    const outcome = yield* runTurn(
      request,
      yield* makeWorld({ run, held, checkout, policy, withheldTools: request.withheldTools }),
    )
    switch (outcome._tag) {
      case "Finished": {
        yield* held.write({
          work: { stage: "inspect", instruction: null },
          events: [yield* stepEvent(run, "agent", "completed")],
        })
        return onward
      }
      case "Bounded":
        return yield* ended(bounded(outcome.limit, outcome.steps))
      case "Waiting":
        return { _tag: "Rest", waitsFor: outcome.requestIds } satisfies Stepped
    }
  })
  return yield* worked.pipe(
    Effect.catchTags({
      ModelFailed: (failed) => ended(modelFailure(failed)),
      ContextRefused: (refused) => ended(contextFailure(refused)),
      CheckoutFailed: (failed) => ended(checkoutFailure(failed)),
    }),
  )
})

/** Was the agent told this, and has it said all that it has to say about it? */
const isAnswered = Effect.fnUntraced(function* (runId: string, task: string) {
  const sql = yield* Sql
  const entries = yield* makeSessionStore(sql)
    .load(runId)
    .pipe(Effect.mapError(({ message }) => new TurnInterrupted({ reason: "unavailable", message })))
  const told = entries.findLast((entry) => entry.kind === "message" && entry.message.role === "user")
  const last = entries.at(-1)
  if (told?.kind !== "message" || told.message.role !== "user" || last?.kind !== "message") return false
  return told.message.text === redact(task) && last.message.role === "assistant" && last.message.calls.length === 0
})
