/**
 * Drives one coordinator run as far as it goes: looks at what is stored, does the first thing that is to be done,
 * writes what came of it, and looks again. Waiting for a person or a child is a state: the run is given back.
 *
 * Whatever is lost on the way (this process, an answer of the world) is done again by whoever looks next; whatever
 * somebody else changed meanwhile makes what was being done void.
 */
import { Effect } from "effect"
import { EventLog } from "#core/event-log.ts"
import type { Refusal } from "#core/refusal.ts"
import { StepRetrying } from "#core/run/events/coordinator.ts"
import { RunError } from "#core/run/events/run.ts"
import { isTerminal } from "#core/run/status.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"
import type { Action } from "#runtime/coordinator/action.ts"
import type { Change } from "#runtime/coordinator/change.ts"
import { recovered } from "#runtime/coordinator/events/recovered.ts"
import { nobodyAnswers } from "#runtime/coordinator/model/autopilot.ts"
import { next } from "#runtime/coordinator/next.ts"
import { perform } from "#runtime/coordinator/perform.ts"
import { makeRemembered, type Remembered } from "#runtime/coordinator/remembered.ts"
import { type CoordinatorState, isGate } from "#runtime/coordinator/state.ts"
import { type ClaimedPlan, CoordinatorStore } from "#runtime/coordinator/store.ts"
import { type Wait, waitsOf } from "#runtime/coordinator/waits.ts"
import { CoordinatorWorld, refusedByPolicy, WorldFailed } from "#runtime/coordinator/world.ts"

/** Drivers that may be lost, or find the world away, over one step before the run is given up. */
const maxTakes = 20
/** Seconds until a step is tried again: doubled with every try. */
const firstPause = 2
const maxPause = 60
/** Seconds after which a run with working children is looked at again, whatever was notified. */
const childPoll = 10

/** `changed` returns once somebody else may have changed the run; `remembered` is what this replica knows of runs. */
export const driveCoordinator = Effect.fn("coordinator.drive")(function* (
  { runId, fence, takenOver, takes }: ClaimedPlan,
  changed: Effect.Effect<void>,
  remembered: Remembered = makeRemembered(),
) {
  const store = yield* CoordinatorStore
  const world = yield* CoordinatorWorld
  const log = yield* EventLog
  const pause = Math.min(firstPause * 2 ** (takes - 1), maxPause)

  const look = Effect.gen(function* () {
    const limits = yield* world.limits
    const known = remembered.find(runId)
    const refreshed = known === undefined ? undefined : yield* store.refresh({ ...known, limits })
    const state = refreshed ?? (yield* store.load(runId, limits))
    if (state === undefined) remembered.forget(runId)
    else remembered.keep(state)
    return state
  })

  const tell = (state: CoordinatorState) => (events: Parameters<typeof log.append>[1]) =>
    log.append(runId, events).pipe(
      Effect.asVoid,
      Effect.mapError(({ message }) => new WorldFailed({ reason: "events_not_stored", message, retryable: true })),
      Effect.annotateLogs({ version: state.version }),
    )

  const retrying = ({ _tag: step }: Action, { reason }: WorldFailed) => [
    RunError.of({ reason }),
    StepRetrying.of({ step, reason, attempt: takes, maxAttempts: maxTakes, retryInSeconds: pause }),
  ]

  /** Ends as soon as the state that something long is done for is no longer the state. */
  const outdated = (state: CoordinatorState) =>
    changed.pipe(
      Effect.andThen(look),
      Effect.map((seen) => seen === undefined || seen.version !== state.version || isTerminal(seen.run.status)),
      Effect.catchTag("DatabaseUnavailable", () => Effect.succeed(false)),
      Effect.repeat({ until: (over) => over }),
      Effect.as(undefined),
    )

  const step = Effect.fnUntraced(function* (state: CoordinatorState, action: Action, told: boolean) {
    const events = takenOver && !told ? [recovered(state)] : []
    const done = yield* perform(state, action, tell(state)).pipe(
      Effect.catchTag("WorldFailed", (failure) =>
        failure.retryable && failure.exhausted !== true && takes < maxTakes
          ? Effect.andThen(Effect.ignore(tell(state)(retrying(action, failure))), Effect.fail(failure))
          : Effect.succeed({ state, changes: [givenUp(state, action, failure)] }),
      ),
      Effect.raceFirst(outdated(state)),
    )
    if (done === undefined || done.changes.length === 0) return
    const saved = yield* store.save({ ...done, fence, events })
    if (saved._tag === "Saved") remembered.keep(saved.state)
  })

  const forward = Effect.gen(function* () {
    let told = false
    while (true) {
      const state = yield* look
      if (state === undefined) return
      if (isTerminal(state.run.status)) return yield* store.rest(runId, fence, state.version, null)
      const now = Date.parse(yield* store.now)
      const [action] = next(state, now)
      if (action === undefined) {
        return yield* store.rest(runId, fence, state.version, secondsUntil(waitsOf(state, now), now))
      }
      if (takes > maxTakes) {
        const lost = new WorldFailed({
          reason: "coordinator_lost",
          message: "The work on this step was lost too often.",
          retryable: true,
        })
        yield* store.save({ state, changes: [givenUp(state, action, lost)], fence })
        continue
      }
      yield* step(state, action, told)
      told = true
    }
  })

  yield* forward.pipe(
    // whatever went wrong, it is not to go wrong again for what is remembered
    Effect.onError(() => Effect.sync(() => remembered.forget(runId))),
    Effect.onInterrupt(() => quietly(store.release(runId, fence, 0))),
    Effect.catchTags({
      WorldFailed: (failure) =>
        Effect.logWarning("A step of a coordinator run is tried again later.", failure.message).pipe(
          Effect.annotateLogs({ runId, reason: failure.reason }),
          Effect.andThen(quietly(store.release(runId, fence, pause))),
        ),
      DatabaseUnavailable: () => quietly(store.release(runId, fence, pause)),
      // another driver has it, or it has ended: then there is nothing to give back
      Refusal: (refusal: Refusal) =>
        Effect.logDebug("A coordinator run is left alone.", refusal.message).pipe(
          Effect.andThen(quietly(store.release(runId, fence, pause))),
        ),
    }),
  )
})

const quietly = (effect: Effect.Effect<void, DatabaseUnavailable>) =>
  Effect.catchTag(effect, "DatabaseUnavailable", () => Effect.void)

/**
 * Where the world fails for good: a question is left to who asked it; an assembly waits for a person who can try again,
 * or have it changed; anything else fails the run.
 */
const givenUp = (state: CoordinatorState, action: Action, { reason, message, retryable }: WorldFailed): Change => {
  if (action._tag === "AnswerQuestion") {
    const { _tag: _, ...asked } = action
    return { _tag: "QuestionAnswered", ...asked, answer: nobodyAnswers }
  }
  const { plan } = state
  const held =
    plan?.status === "assembling" && (refusedByPolicy === reason || (retryable && isGate(plan.assembly.stage)))
  return held
    ? { _tag: "AssemblyBlocked", reason, infrastructure: { reason, message } }
    : { _tag: "Failed", reason, message, retryable }
}

/** Null: only a change by somebody else makes it go on. */
const secondsUntil = (waits: ReadonlyArray<Wait>, now: number): number | null => {
  const times = waits.flatMap((wait) => {
    if (wait._tag === "Person") return []
    return [Math.min(wait.until === null ? childPoll : (wait.until - now) / 1_000, childPoll)]
  })
  return times.length === 0 ? null : Math.max(0, Math.min(...times))
}
