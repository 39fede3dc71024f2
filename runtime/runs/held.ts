/**
 * A run that this worker holds: every write names the fence under which it holds it, in the transaction of the
 * write, so that a worker that was paused and wakes up late changes nothing.
 */
import { Effect } from "effect"
import type { NewEvent } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import type { Refusal } from "#core/refusal.ts"
import type { RunCommand } from "#core/run/command.ts"
import type { Run } from "#core/run/run.ts"
import { Runs } from "#core/run/runs.ts"
import { makeSessionStore } from "#core/run/session.ts"
import type { RunFacts } from "#core/run/store.ts"
import { makeWorkStore, type Work, type WorkChange } from "#core/run/work-store.ts"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"
import { type SessionEntry, TurnInterrupted } from "#core/wire/turn.ts"

/** What one write may hold: all of it is in one commit. */
export interface Write {
  readonly work?: WorkChange
  readonly facts?: RunFacts
  readonly session?: Parameters<ReturnType<typeof makeSessionStore>["append"]>[1]
  /** Appended before the events of `command`. */
  readonly events?: ReadonlyArray<NewEvent>
  readonly command?: RunCommand
}

export interface Held {
  readonly runId: string
  readonly fence: number
  readonly write: (write: Write) => Effect.Effect<void, TurnInterrupted>
  /** What the agent was told meanwhile, now in its session. */
  readonly hear: Effect.Effect<ReadonlyArray<SessionEntry>, TurnInterrupted>
}

const interrupted = (reason: TurnInterrupted["reason"], message: string) => new TurnInterrupted({ reason, message })

const lost = (refusal: Refusal) =>
  interrupted(refusal.code === "lease_lost" ? "lease_lost" : "cancelled", refusal.message)
const away = ({ message }: DatabaseUnavailable) => interrupted("unavailable", message)

export const makeHeld = Effect.gen(function* () {
  const sql = yield* Sql
  const log = yield* EventLog
  const runs = yield* Runs
  const works = makeWorkStore(sql)
  const sessions = makeSessionStore(sql)
  return (runId: string, fence: number): Held => {
    const holding = <A>(effect: Effect.Effect<A, Refusal | DatabaseUnavailable>) =>
      sql
        .transaction(
          Effect.gen(function* () {
            if (!(yield* works.hold(runId, fence))) {
              return yield* interrupted("cancelled", "The run has ended, or another worker has it.")
            }
            return yield* effect
          }),
        )
        .pipe(
          Effect.catchTags({
            Refusal: (refusal) => Effect.fail(lost(refusal)),
            DatabaseUnavailable: (failure) => Effect.fail(away(failure)),
          }),
        )
    return {
      runId,
      fence,
      hear: holding(
        Effect.gen(function* () {
          const heard = yield* sessions.takeInstructions(runId)
          const entries = heard.map((text): SessionEntry => ({ kind: "instruction", text }))
          yield* sessions.append(runId, entries)
          return entries
        }),
      ),
      write: ({ work, facts, session, events, command }) =>
        holding(
          Effect.gen(function* () {
            // what is remembered is progress: the workers lost before it do not count any more
            if (work !== undefined || session !== undefined) yield* works.change(runId, work ?? {})
            if (session !== undefined) yield* sessions.append(runId, session)
            if (facts !== undefined) yield* runs.record(runId, facts, [], { fence })
            if (events !== undefined) yield* log.append(runId, events)
            if (command !== undefined) yield* runs.transition(runId, command, { fence })
          }),
        ),
    }
  }
})

/** A step of the way: what it found is written, and the worker looks again; or the run rests. */
export type Stepped = { readonly _tag: "Onward" } | { readonly _tag: "Rest"; readonly waitsFor: ReadonlyArray<string> }

export const onward: Stepped = { _tag: "Onward" }

export interface StepInput {
  readonly run: Run
  readonly work: Work
  readonly held: Held
}

export type StepEffect<R> = Effect.Effect<Stepped, TurnInterrupted, R>
