/**
 * The coordinators of a replica: takes coordinator runs that are due, drives each in a fiber of its own, and keeps its
 * leases. It looks when it is told and every second, so that no lost notification loses a run.
 */
import { hostname } from "node:os"
import { Effect, Fiber } from "effect"
import { makeWorkStore, workChannel } from "#core/run/work-store.ts"
import { Settings } from "#core/settings.ts"
import { makeSignal, type Signal } from "#core/signal.ts"
import { Sql } from "#core/sql.ts"
import { driveCoordinator } from "#runtime/coordinator/coordinator.ts"
import { makeRemembered } from "#runtime/coordinator/remembered.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"

/** How soon a run is found when the notification of it was lost. */
const idlePoll = "1 second"
/** How soon a driver that does something long finds that the run was changed, when the notification was lost. */
const changePoll = "5 seconds"
/** Coordinator runs that a replica drives at a time: most of them wait for models. */
const width = 32

export const runCoordinators = Effect.gen(function* () {
  const settings = yield* Settings
  const { PodLeaseStaleTtlSeconds: leaseSeconds, PodLeaseHeartbeatSeconds: beatSeconds } = settings.Coordinator
  if (settings.Runs.Workers === 0) return
  const sql = yield* Sql
  const store = yield* CoordinatorStore
  const works = makeWorkStore(sql)
  const scope = yield* Effect.scope
  const owner = `${hostname()}-${process.pid}-${crypto.randomUUID()}`
  const driving = new Map<string, { readonly fiber: Fiber.Fiber<void>; readonly told: Signal }>()
  const remembered = makeRemembered()
  const due = makeSignal()
  /** Runs that something was notified of since they were last asked for. */
  const touched = new Set<string>()

  const take = Effect.gen(function* () {
    const free = width - driving.size
    if (free <= 0) return
    const asked = [...touched].filter((runId) => !driving.has(runId))
    for (const runId of asked) touched.delete(runId)
    for (const claimed of yield* store.claim(owner, leaseSeconds, free, asked)) {
      const { runId } = claimed
      const told = makeSignal()
      const changed = told.wait.pipe(Effect.timeoutOption(changePoll), Effect.asVoid)
      const fiber = yield* driveCoordinator(claimed, changed, remembered).pipe(
        Effect.catchCause((cause) => Effect.logError("A coordinator run could not be driven.", cause)),
        Effect.ensuring(
          Effect.sync(() => {
            driving.delete(runId)
            due.raise()
          }),
        ),
        Effect.annotateLogs({ runId }),
        Effect.forkIn(scope),
      )
      // it may have ended before it is known here
      if (fiber.pollUnsafe() === undefined) driving.set(runId, { fiber, told })
    }
  }).pipe(Effect.catchTag("DatabaseUnavailable", () => Effect.void))

  /** Keeps the leases; a run that is no longer ours is given up. Where nobody answers, the fence refuses what is late. */
  const renew = Effect.gen(function* () {
    const asked = [...driving.keys()]
    if (asked.length === 0) return
    const kept = yield* works.renew(owner, leaseSeconds, asked)
    for (const runId of asked) {
      const fiber = driving.get(runId)?.fiber
      if (!kept.includes(runId) && fiber !== undefined) yield* Effect.forkIn(Fiber.interrupt(fiber), scope)
    }
  }).pipe(Effect.catchTag("DatabaseUnavailable", () => Effect.void))

  yield* sql.listen(
    workChannel,
    (runId) => {
      touched.add(runId)
      driving.get(runId)?.told.raise()
      due.raise()
    },
    () => due.raise(),
  )
  yield* Effect.sleep(`${beatSeconds} seconds`).pipe(Effect.andThen(renew), Effect.forever, Effect.forkScoped)
  yield* take.pipe(Effect.andThen(due.wait.pipe(Effect.timeoutOption(idlePoll))), Effect.forever, Effect.forkScoped)
})
