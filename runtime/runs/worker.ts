/**
 * The worker of a replica: takes runs that are due, drives each in a fiber of its own, and keeps its leases. It
 * looks when it is told (a notification) and every second, so that no lost notification loses a run. A lease that
 * cannot be kept ends the work on its run: another replica may have it.
 */
import { hostname } from "node:os"
import { Clock, Effect, Fiber } from "effect"
import { makeWorkStore, workChannel } from "#core/run/work-store.ts"
import { Settings } from "#core/settings.ts"
import { makeSignal } from "#core/signal.ts"
import { Sql } from "#core/sql.ts"
import { drive } from "#runtime/runs/drive.ts"

/** How soon a run is found when the notification of it was lost. */
const idlePoll = "1 second"

export const runWorker = Effect.gen(function* () {
  const settings = yield* Settings
  const { Workers: width } = settings.Runs
  const { PodLeaseStaleTtlSeconds: leaseSeconds, PodLeaseHeartbeatSeconds: beatSeconds } = settings.Coordinator
  if (width === 0) return
  const sql = yield* Sql
  const works = makeWorkStore(sql)
  const scope = yield* Effect.scope
  const owner = `${hostname()}-${process.pid}-${crypto.randomUUID()}`
  const working = new Map<string, { readonly fiber: Fiber.Fiber<void>; renewedAt: number }>()
  const due = makeSignal()
  const doubtful = makeSignal()

  /** Asks which of the runs are still ours, and stops the work on the others. */
  const renew = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const asked = [...working.keys()]
    if (asked.length === 0) return
    const kept = yield* works.renew(owner, leaseSeconds, asked).pipe(
      Effect.map((runIds) => new Set(runIds)),
      // nobody knows: a lease counts until it must have run out
      Effect.catchTag("DatabaseUnavailable", () =>
        Effect.succeed(
          new Set(asked.filter((runId) => now - (working.get(runId)?.renewedAt ?? 0) < leaseSeconds * 1_000)),
        ),
      ),
    )
    for (const runId of asked) {
      const work = working.get(runId)
      if (work === undefined) continue
      if (kept.has(runId)) work.renewedAt = now
      else yield* Effect.forkIn(Fiber.interrupt(work.fiber), scope)
    }
  })

  const take = Effect.gen(function* () {
    const free = width - working.size
    if (free <= 0) return
    for (const claimed of yield* works.claim(owner, leaseSeconds, free)) {
      const { runId } = claimed
      const fiber = yield* drive(claimed).pipe(
        Effect.catchCause((cause) => Effect.logError("A run could not be driven.", cause)),
        Effect.ensuring(
          Effect.sync(() => {
            working.delete(runId)
            due.raise()
          }),
        ),
        Effect.annotateLogs({ runId }),
        Effect.forkIn(scope),
      )
      // it may have ended before it is known here
      if (fiber.pollUnsafe() === undefined) working.set(runId, { fiber, renewedAt: yield* Clock.currentTimeMillis })
    }
  }).pipe(Effect.catchTag("DatabaseUnavailable", () => Effect.void))

  yield* sql.listen(
    workChannel,
    (runId) => (working.has(runId) ? doubtful.raise() : due.raise()),
    () => due.raise(),
  )
  yield* doubtful.wait.pipe(Effect.andThen(renew), Effect.forever, Effect.forkScoped)
  yield* Effect.sleep(`${beatSeconds} seconds`).pipe(Effect.andThen(renew), Effect.forever, Effect.forkScoped)
  yield* take.pipe(Effect.andThen(due.wait.pipe(Effect.timeoutOption(idlePoll))), Effect.forever, Effect.forkScoped)
})
