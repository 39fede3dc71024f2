/**
 * Coordinator runs in the database. A run is read whole, and written by changes: rows, runs, children and events in
 * one commit, and only from the very version that the changes were decided on. Of two who decide at once one writes,
 * and the other is told to look again.
 */
import { Context, Effect, Layer } from "effect"
import type { NewEvent } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { newId } from "#core/ids.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import { decideAnswer } from "#core/run/control/decide.ts"
import { makeControlDesk } from "#core/run/control/desk.ts"
import { CoordinatorStarted } from "#core/run/events/coordinator.ts"
import { RunStarted } from "#core/run/events/run.ts"
import type { NewRun } from "#core/run/new-run.ts"
import { coordinatorAgent, type Run } from "#core/run/run.ts"
import { Runs, type Transitioned } from "#core/run/runs.ts"
import { isTerminal } from "#core/run/status.ts"
import { makeWorkStore, workChannel } from "#core/run/work-store.ts"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"
import type { Change } from "#runtime/coordinator/change.ts"
import { notActive } from "#runtime/coordinator/command.ts"
import { eventsOf } from "#runtime/coordinator/events.ts"
import { evolve } from "#runtime/coordinator/evolve.ts"
import { defaultLimits, type Limits } from "#runtime/coordinator/limits.ts"
import { type ChildEffect, childEffectsOf, runCommandsOf } from "#runtime/coordinator/run-command.ts"
import type { CoordinatorState, RosterMember, StartMode } from "#runtime/coordinator/state.ts"
import { readState, refreshState } from "#runtime/coordinator/store/read.ts"
import { writeRows } from "#runtime/coordinator/store/write.ts"
import { topologyEvents } from "#runtime/coordinator/topology.ts"

export interface NewCoordinator
  extends Pick<
    NewRun,
    "projectId" | "submittedBy" | "modelSource" | "modelId" | "repository" | "originatingBranch" | "policy" | "workflow"
  > {
  readonly goal: string
  readonly startMode: StartMode
  readonly roster: ReadonlyArray<RosterMember>
}

export interface Save {
  readonly state: CoordinatorState
  readonly changes: ReadonlyArray<Change>
  /** Of whoever drives the run; absent where a person decides. */
  readonly fence?: number
  /** Events beside those of the changes, told before them. */
  readonly events?: ReadonlyArray<NewEvent>
  /** The child of a `Dispatched` among the changes, made in the same commit. */
  readonly child?: NewRun
}

/** `Stale`: somebody has changed the run since it was read. */
export type Saved = { readonly _tag: "Saved"; readonly state: CoordinatorState } | { readonly _tag: "Stale" }

export interface ClaimedPlan {
  readonly runId: string
  readonly fence: number
  /** The driver before did not give it back. */
  readonly takenOver: boolean
  /** Drivers that took it since it last got further. */
  readonly takes: number
}

type Answer<A> = Effect.Effect<A, Refusal | DatabaseUnavailable>
type Read<A> = Effect.Effect<A, DatabaseUnavailable>

export class CoordinatorStore extends Context.Service<
  CoordinatorStore,
  {
    /** A coordinator run, due at once. */
    readonly start: (spec: NewCoordinator) => Answer<Run>
    /** A failed coordinator run, once more from its goal; `changed: false`: it was there already. */
    readonly retry: (runId: string, by: string) => Answer<Transitioned>
    /** Undefined: it is no coordinator run, or is gone. */
    readonly load: (runId: string, limits?: Limits) => Read<CoordinatorState | undefined>
    /** A state that is known, as it stands now. Undefined: more has changed than how its children stand, so load it. */
    readonly refresh: (known: CoordinatorState) => Read<CoordinatorState | undefined>
    /** Fails with `lease_lost` where the fence is no longer the run's, and `run_not_active` where the run has ended. */
    readonly save: (save: Save) => Answer<Saved>
    /** Reads, decides and writes, again while others are faster. */
    readonly decide: (
      runId: string,
      decide: (
        state: CoordinatorState,
        stamp: { readonly id: number; readonly at: string },
      ) => Effect.Effect<ReadonlyArray<Change>, Refusal>,
    ) => Answer<CoordinatorState>
    /** So many fresh ids of specs, plans, subtasks and directives, ascending. */
    readonly reserve: (count: number) => Read<ReadonlyArray<number>>
    /** The clock of the database: ISO 8601. */
    readonly now: Read<string>
    /** Runs that are nobody's, and due or among those that somebody was told of: now this owner's. */
    readonly claim: (
      owner: string,
      leaseSeconds: number,
      limit: number,
      told?: ReadonlyArray<string>,
    ) => Read<ReadonlyArray<ClaimedPlan>>
    /** Gives it back until `dueInSeconds`, or until somebody changes something (null). Not where that happened since `version`. */
    readonly rest: (runId: string, fence: number, version: number, dueInSeconds: number | null) => Read<void>
    /** Gives it back to whoever takes it, after a pause. */
    readonly release: (runId: string, fence: number, pauseSeconds: number) => Read<void>
  }
>()("runtime/CoordinatorStore") {
  static readonly layer = Layer.effect(
    CoordinatorStore,
    Effect.gen(function* () {
      const sql = yield* Sql
      const log = yield* EventLog
      const runs = yield* Runs
      const rows = writeRows(sql)
      const desk = makeControlDesk(sql, log)
      const work = makeWorkStore(sql)

      const load = Effect.fn("CoordinatorStore.load")(
        (runId: string, limits: Limits = defaultLimits) => readState(sql, limits)(runId),
        // one snapshot: several statements must not see several moments
        (effect) => sql.transaction(Effect.andThen(sql`set transaction isolation level repeatable read`, effect)),
      )

      const reserve = Effect.fnUntraced(function* (count: number) {
        const ids = yield* sql<{ readonly id: number }>`
          select nextval('coordination_ids')::int as id from generate_series(1, ${count}::int)`
        return ids.map(({ id }) => id)
      })

      const now = Effect.map(sql<{ readonly at: string }>`select now() as at`, ([row]) => row?.at ?? "")

      const start = Effect.fn("CoordinatorStore.start")(
        function* ({ goal, startMode, roster, ...spec }: NewCoordinator) {
          const runId = newId()
          const run = yield* runs.create({
            ...spec,
            runId,
            agentName: coordinatorAgent,
            task: goal,
            firstEvents: [
              RunStarted.of({ runId, agentName: coordinatorAgent, kind: "coordinator" }),
              CoordinatorStarted.of({ goal }),
            ],
          })
          yield* sql`
            insert into coordinators (run_id, start_mode, roster)
            values (${runId}, ${startMode}, ${sql.json(roster)}::jsonb)`
          yield* sql`select pg_notify(${workChannel}, ${runId})`
          return run
        },
        (effect) => sql.transaction(effect),
      )

      const retry = Effect.fn("CoordinatorStore.retry")(
        function* (runId: string, by: string) {
          const retried = yield* runs.retry(runId, by)
          if (!retried.changed) return retried
          yield* sql`
            insert into coordinators (run_id, start_mode, roster)
            select ${retried.run.runId}::uuid, start_mode, roster from coordinators where run_id = ${runId}`
          yield* sql`select pg_notify(${workChannel}, ${retried.run.runId})`
          yield* log.append(retried.run.runId, [CoordinatorStarted.of({ goal: retried.run.task })])
          return retried
        },
        (effect) => sql.transaction(effect),
      )

      /** Takes the run for this change: false where another version is there. */
      const advance = Effect.fnUntraced(function* ({ run, version }: CoordinatorState, fence: number | undefined) {
        const advanced = yield* sql`
          update coordinators c set version = c.version + 1, due_at = now(), takes = 0
            from runs r
           where c.run_id = ${run.runId} and r.run_id = c.run_id and c.version = ${version} and r.ended_at is null
             and r.fence = coalesce(${fence ?? null}::bigint, r.fence)
          returning c.version`
        if (advanced.length > 0) return true
        const [found] = yield* sql<Pick<typeof run, "status" | "result"> & { readonly fence: number }>`
          select fence, status, result from runs where run_id = ${run.runId}`
        if (found === undefined) return yield* refuse("run_not_found")
        if (fence !== undefined && found.fence !== fence) return yield* refuse("lease_lost")
        if (isTerminal(found.status)) return yield* notActive(found)
        return false
      })

      const carryOut = Effect.fnUntraced(function* (effect: ChildEffect, by: string) {
        const { childRunId } = effect
        if (effect._tag === "Answer") {
          // refused where a person was faster, or it is too late: then nothing of this is written
          yield* desk.deciding(childRunId, (control, at) =>
            decideAnswer(control, effect.requestId, effect.answer, "autopilot", at),
          )
          return yield* work.wake(childRunId).pipe(Effect.asVoid)
        }
        if (effect._tag === "Cancel") {
          return yield* runs
            .cancel(childRunId, { reason: effect.reason, by })
            .pipe(Effect.catchTag("Refusal", ignoreGone), Effect.asVoid)
        }
        const [child] = yield* sql<{ readonly ended: boolean }>`
          select ended_at is not null as ended from runs where run_id = ${childRunId}`
        if (child?.ended === true) {
          yield* runs.transition(childRunId, { _tag: "Reopen", comment: effect.instruction, by })
          return
        }
        yield* sql`
          insert into run_instructions (run_id, key, text) values (${childRunId}, ${effect.key}, ${effect.instruction})
          on conflict do nothing`
      })

      const save = Effect.fn("CoordinatorStore.save")(
        function* ({ state, changes, fence, events = [], child }: Save) {
          const { runId } = state.run
          const stages: Array<{
            readonly before: CoordinatorState
            readonly change: Change
            readonly after: CoordinatorState
          }> = []
          let after = state
          for (const change of changes) {
            const before = after
            after = evolve(before, change)
            stages.push({ before, change, after })
          }
          const effects = stages.flatMap(({ before, change }) => childEffectsOf(before, change))
          const touched = effects.map(({ childRunId }) => childRunId)
          // rows first, each before its children, then logs in the order of their ids: as everybody takes them
          yield* sql`select from runs where run_id = ${runId} for no key update`
          if (!(yield* advance(state, fence))) return { _tag: "Stale" } as const
          if (touched.length > 0) {
            yield* sql`select from runs where run_id = any(${touched}::uuid[]) order by run_id for no key update`
          }
          yield* sql`select lock_runs(${[runId, ...touched]}::text[])`
          yield* rows(state, after)
          if (child !== undefined) yield* runs.create(child)
          for (const effect of effects) yield* carryOut(effect, state.run.submittedBy)
          const at = yield* now
          const told = stages.flatMap((stage) => eventsOf(stage.before, stage.change, stage.after, at))
          const drawn = topologyEvents(state, after, at)
          yield* log.append(runId, [...events, ...told, ...drawn])
          if (after.plan !== null && after.plan.status !== state.plan?.status) {
            const { status, statusReason } = after.plan
            const facts = { coordinatorStatus: status, coordinatorStatusReason: statusReason }
            yield* runs.record(runId, facts, [])
          }
          for (const { before, change } of stages) {
            for (const command of runCommandsOf(before, change)) yield* runs.transition(runId, command)
            if (change._tag === "Stopped") yield* runs.cancel(runId, { reason: "steering_stop", by: change.by })
          }
          // not only the end of a transaction tells: a change by a person wakes the driver
          yield* sql`select pg_notify(${workChannel}, ${runId})`
          return { _tag: "Saved", state: { ...after, version: state.version + 1 } } as const
        },
        (effect) => sql.transaction(effect),
      )

      const decide = Effect.fn("CoordinatorStore.decide")(function* (
        runId: string,
        decision: (
          state: CoordinatorState,
          stamp: { readonly id: number; readonly at: string },
        ) => Effect.Effect<ReadonlyArray<Change>, Refusal>,
      ) {
        for (let attempt = 0; attempt < decideAttempts; attempt++) {
          const state = (yield* load(runId)) ?? (yield* refuse("run_not_found"))
          const [id = 0] = yield* reserve(1)
          const changes = yield* decision(state, { id, at: yield* now })
          if (changes.length === 0) return state
          const saved = yield* save({ state, changes })
          if (saved._tag === "Saved") return saved.state
        }
        return yield* refuse("conflict", { message: "The run is changing. Try again." })
      })

      return CoordinatorStore.of({
        start,
        retry,
        load,
        refresh: Effect.fn("CoordinatorStore.refresh")(refreshState(sql)),
        save,
        decide,
        reserve,
        now,
        claim: (owner, leaseSeconds, limit, told = []) => sql<ClaimedPlan>`
          with over as (
            update coordinators c set due_at = null
              from runs r where c.due_at <= now() and r.run_id = c.run_id and r.ended_at is not null
          ), due as (
            select c.run_id, r.lease_owner is not null as taken_over
              from coordinators c join runs r using (run_id)
             where (c.due_at <= now() or c.run_id = any(${told}::uuid[])) and r.ended_at is null and (r.lease_until is null or r.lease_until <= now())
             order by c.due_at
             limit ${limit}
               for update of r skip locked
          ), counted as (
            update coordinators c set takes = takes + 1 from due where c.run_id = due.run_id returning c.run_id, c.takes
          )
          update runs r
             set lease_owner = ${owner}, lease_until = now() + make_interval(secs => ${leaseSeconds}), fence = fence + 1
            from due join counted using (run_id) where r.run_id = due.run_id
          returning r.run_id as "runId", r.fence, due.taken_over as "takenOver", counted.takes`,
        rest: (runId, fence, version, dueInSeconds) =>
          Effect.asVoid(sql`
            with mine as (
              update runs set lease_owner = null, lease_until = null where run_id = ${runId} and fence = ${fence}
              returning run_id
            )
            update coordinators c
               set takes = 0,
                   due_at = case when c.version = ${version}
                     then now() + make_interval(secs => ${dueInSeconds}::double precision) else now() end
              from mine where c.run_id = mine.run_id`),
        release: (runId, fence, pauseSeconds) =>
          Effect.asVoid(sql`
            with mine as (
              update runs set lease_owner = null, lease_until = null where run_id = ${runId} and fence = ${fence}
              returning run_id
            )
            update coordinators c set due_at = now() + make_interval(secs => ${pauseSeconds}::double precision)
              from mine where c.run_id = mine.run_id`),
      })
    }),
  )
}

/** How often a decision is made anew because the run was changed meanwhile. */
const decideAttempts = 5

/** A child whose run was deleted needs no cancelling. */
const ignoreGone = (refusal: Refusal) => (refusal.code === "run_not_found" ? Effect.void : Effect.fail(refusal))
