/**
 * What an agent's turn asks of people, and waits for. A question is an event first: the decision may come to
 * any replica, and whoever drives the turn again finds what was asked. Nothing waits here: every request ends by a
 * decision, by its expiry, or with the run.
 */
import { Context, Effect, Layer } from "effect"
import { EventLog } from "#core/event-log.ts"
import type { Refusal } from "#core/refusal.ts"
import { makeControlDesk } from "#core/run/control/desk.ts"
import { type OpenRequest, openRequests, overdue } from "#core/run/control/open-requests.ts"
import { makeTellParent } from "#core/run/waits/parent.ts"
import { makeStanding, type StandingShape } from "#core/run/waits/standing.ts"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"

export interface RunWaitsShape extends StandingShape {
  /** Ends what nobody decided in time, each once; gives what still waits, and the database's time in milliseconds. */
  readonly expireOverdue: (
    runId: string,
  ) => Effect.Effect<{ readonly open: ReadonlyArray<OpenRequest>; readonly now: number }, Refusal | DatabaseUnavailable>
}

export class RunWaits extends Context.Service<RunWaits, RunWaitsShape>()("core/RunWaits") {
  static readonly layer = Layer.effect(
    RunWaits,
    Effect.gen(function* () {
      const sql = yield* Sql
      const log = yield* EventLog
      const desk = makeControlDesk(sql, log)
      return RunWaits.of({
        ...makeStanding(sql, log, desk, makeTellParent(sql, log)),
        expireOverdue: Effect.fn("RunWaits.expireOverdue")(
          function* (runId: string) {
            const { now } = yield* desk.hold(runId)
            const open = openRequests((yield* desk.read(runId)).state)
            const over = overdue(open, now)
            yield* log.append(
              runId,
              over.map(({ expiry }) => expiry),
            )
            return { open: open.filter((request) => !over.includes(request)), now }
          },
          (effect) => sql.transaction(effect),
        ),
      })
    }),
  )
}
