/** Drives one run as far as it goes without a person: step after step, each from what is stored, none from memory. */
import { Cause, Effect } from "effect"
import { RunError } from "#core/run/events/run.ts"
import { Runs } from "#core/run/runs.ts"
import { type Claimed, makeWorkStore } from "#core/run/work-store.ts"
import { Sql } from "#core/sql.ts"
import { TurnInterrupted } from "#core/wire/turn.ts"
import { internalError, workerLost } from "#runtime/runs/failure.ts"
import { makeHeld, onward, type StepEffect, type StepInput, type Stepped } from "#runtime/runs/held.ts"
import { nextStep } from "#runtime/runs/next-step.ts"
import { inspect } from "#runtime/runs/step/inspect.ts"
import { commit, merge } from "#runtime/runs/step/merge.ts"
import { prepare } from "#runtime/runs/step/prepare.ts"
import { turn } from "#runtime/runs/step/turn.ts"

/** Workers that may be lost over one stretch of work before the run is given up. */
const maxAttempts = 10
/** Seconds until a run is tried again whose storage did not answer. */
const awaySeconds = 2

const steps = { prepare, turn, inspect, commit, merge }

type StepNeeds = Effect.Services<ReturnType<(typeof steps)[keyof typeof steps]>>

const atRest: Stepped = { _tag: "Rest", waitsFor: [] }

/** Ends with the run given back, at rest or due again. Interrupting it leaves the run due at once. */
export const drive = Effect.fn("runs.drive")(function* ({ runId, fence, takenOver }: Claimed) {
  const sql = yield* Sql
  const runs = yield* Runs
  const works = makeWorkStore(sql)
  const held = (yield* makeHeld)(runId, fence)

  const look = Effect.gen(function* () {
    const work = yield* works.find(runId)
    const run = yield* runs.get(runId)
    return work === undefined ? undefined : { run, work, held }
  }).pipe(
    Effect.catchTags({
      Refusal: () => Effect.undefined,
      DatabaseUnavailable: ({ message }) => Effect.fail(new TurnInterrupted({ reason: "unavailable", message })),
    }),
  )

  const carryOut = (name: keyof typeof steps, input: StepInput) => {
    const step: StepEffect<StepNeeds> = steps[name](input)
    return step.pipe(
      Effect.catchCause((cause) => {
        const [reason] = cause.reasons.filter(Cause.isFailReason)
        if (reason !== undefined) return Effect.fail(reason.error)
        if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
        return Effect.logError("The work on a run failed.", cause).pipe(
          Effect.annotateLogs({ runId, step: name }),
          Effect.andThen(held.write({ command: internalError() })),
          Effect.as(onward),
        )
      }),
    )
  }

  const forward = Effect.gen(function* () {
    if (takenOver) {
      yield* held.write({
        events: [RunError.of({ reason: workerLost })],
      })
    }
    while (true) {
      const seen = yield* look
      if (seen === undefined) return
      const step = nextStep(seen.run.status, seen.work.stage)
      if (seen.work.attempts > maxAttempts && step !== "rest") {
        yield* held.write({ command: internalError(`The work on this run was begun ${maxAttempts} times and lost.`) })
        continue
      }
      const done = step === "rest" ? atRest : yield* carryOut(step, seen)
      if (done._tag === "Rest") return yield* works.rest(runId, fence, seen.work.wakes, done.waitsFor)
    }
  })

  const giveBack = (seconds: number) =>
    works.release(runId, fence, seconds).pipe(
      Effect.catchTag("DatabaseUnavailable", () => Effect.void),
      Effect.asVoid,
    )
  yield* forward.pipe(
    Effect.onInterrupt(() => giveBack(0)),
    Effect.catchTags({
      TurnInterrupted: ({ reason }) => giveBack(reason === "unavailable" ? awaySeconds : 0),
      DatabaseUnavailable: () => giveBack(awaySeconds),
    }),
  )
})
