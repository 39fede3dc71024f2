/**
 * The life of runs: created, moved from status to status, cancelled, retried, archived, deleted. Every
 * change is one conditional update with its events in the same commit: of two replicas that decide
 * at once exactly one succeeds. It changes state and tells of it; it starts no agent and merges nothing.
 */
import { Context, Effect, Layer } from "effect"
import type { NewEvent } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { newId } from "#core/ids.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import { guardOf, type RunCommand } from "#core/run/command.ts"
import { changeOf, decide, eventsOf } from "#core/run/decide.ts"
import { type HistoryItem, historyOf } from "#core/run/history.ts"
import { firstEvents, type NewRun, retrySpec } from "#core/run/new-run.ts"
import { decideRetry } from "#core/run/retry.ts"
import type { Run } from "#core/run/run.ts"
import { makeRunSearch, type RunSearch } from "#core/run/search.ts"
import { isTerminal } from "#core/run/status.ts"
import { makeRunStore, type RunFacts } from "#core/run/store.ts"
import { makeWorkStore } from "#core/run/work-store.ts"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"

/** How often a command is tried again because the run moved on between the update and the look at it. */
const raceRetries = 3

type Answer<A> = Effect.Effect<A, Refusal | DatabaseUnavailable>

export interface Transitioned {
  readonly run: Run
  /** False where the command had been carried out before. */
  readonly changed: boolean
}

/** Names the owner's fence: the update is refused (`lease_lost`) once another replica acts for the run. */
export interface Guarded {
  readonly fence?: number
}

export interface Transition extends Guarded {
  /** Told before the events of the command, and only where it changes the run. */
  readonly events?: ReadonlyArray<NewEvent>
}

export interface RunsShape {
  /** A new run with its first events. A child takes project and submitter from its parent. */
  readonly create: (spec: NewRun) => Answer<Run>
  readonly get: (runId: string) => Answer<Run>
  readonly search: RunSearch
  /** Carries out one command, or gives the run as it is where that was done before, or refuses. */
  readonly transition: (runId: string, command: RunCommand, options?: Transition) => Answer<Transitioned>
  /** Facts beside the status, with the events that tell of them. */
  readonly record: (runId: string, facts: RunFacts, events: ReadonlyArray<NewEvent>, options?: Guarded) => Answer<Run>
  /** Ends the run and every active run below it. `changed: false`: it had ended before. */
  readonly cancel: (runId: string, cause: Omit<Extract<RunCommand, { _tag: "Cancel" }>, "_tag">) => Answer<Transitioned>
  /** A new run that does the same again; `changed: false`: it was there already. */
  readonly retry: (runId: string, by: string) => Answer<Transitioned>
  readonly archive: (runId: string) => Answer<Run>
  /** Cancels what is active, then removes the run, its children and their logs. Gives the runs that are gone. */
  readonly remove: (
    runId: string,
    by: string,
  ) => Answer<ReadonlyArray<{ readonly runId: string; readonly repository: string | null }>>
  /** What the agents of an ended run did, in order. */
  readonly history: (runId: string) => Answer<ReadonlyArray<HistoryItem>>
  readonly activeOfProject: (projectId: string) => Effect.Effect<ReadonlyArray<string>, DatabaseUnavailable>
}

export class Runs extends Context.Service<Runs, RunsShape>()("core/Runs") {
  static readonly layer = Layer.effect(
    Runs,
    Effect.gen(function* () {
      const sql = yield* Sql
      const log = yield* EventLog
      const store = makeRunStore(sql)
      const work = makeWorkStore(sql)

      const get = Effect.fn("Runs.get")(function* (runId: string) {
        return (yield* store.find(runId)) ?? (yield* refuse("run_not_found"))
      })

      const open = Effect.fnUntraced(function* (spec: NewRun, retry?: Run) {
        const parent = spec.parentRunId === undefined ? undefined : yield* get(spec.parentRunId)
        const runId = spec.runId ?? newId()
        const run = yield* store.insert({
          runId,
          workflowRunId: retry?.workflowRunId ?? runId,
          projectId: parent === undefined ? spec.projectId : parent.projectId,
          parentRunId: parent?.runId ?? null,
          subtaskId: spec.subtaskId ?? null,
          submittedBy: parent?.submittedBy ?? spec.submittedBy,
          agentName: spec.agentName,
          task: spec.task,
          modelSource: spec.modelSource ?? "hosted",
          modelId: spec.modelId ?? null,
          workflowId: spec.workflow?.id ?? null,
          workflowName: spec.workflow?.name ?? null,
          workflowSelectionReason: spec.workflow?.reason ?? null,
          repository: spec.repository ?? parent?.repository ?? null,
          originatingBranch: spec.originatingBranch ?? null,
          autoApproveTools: spec.policy?.autoApproveTools ?? parent?.autoApproveTools ?? false,
          autopilot: spec.policy?.autopilot ?? parent?.autopilot ?? false,
          retriedFrom: retry?.runId ?? null,
          retryDepth: retry === undefined ? 0 : retry.retryDepth + 1,
        })
        if (typeof run === "string") return run
        if (spec.driven === true) yield* work.open(runId, spec.charter ?? null)
        else if (retry !== undefined) yield* work.openLike(runId, retry.runId)
        yield* work.wake(runId)
        yield* log.open(runId, firstEvents(run, spec))
        return run
      })

      const create = Effect.fn("Runs.create")(
        function* (spec: NewRun) {
          const run = yield* open(spec)
          switch (run) {
            case "project_not_active":
              return yield* refuse("project_deleting")
            case "parent_not_active":
              return yield* refuse("run_not_active", { message: "The parent run is not active." })
            case "retried_already":
              return yield* Effect.die("a run that is no retry was taken for one")
          }
          return run
        },
        (effect) => sql.transaction(effect),
      )

      /** Where no row was changed: it was done before, or why not. Undefined: the run has moved on since; try again. */
      const explain = Effect.fnUntraced(function* (runId: string, command: RunCommand, fence: number | undefined) {
        const run = yield* get(runId)
        if (fence !== undefined && run.fence !== fence) return yield* refuse("lease_lost")
        const decision = yield* Effect.fromResult(decide(run, command))
        return decision._tag === "Repeat" ? { run, changed: false } : undefined
      })

      const transition = Effect.fn("Runs.transition")(
        function* (runId: string, command: RunCommand, { fence, events = [] }: Transition = {}) {
          for (let attempt = 0; attempt < raceRetries; attempt++) {
            const run = yield* store.change(runId, guardOf(command), changeOf(command), fence)
            if (run !== undefined) {
              if (command._tag === "RequestChanges" || command._tag === "Reopen") {
                // numbered: the same words twice are two revisions
                const instruction = `Revision ${run.revisions} was asked for:\n\n${command.comment}`
                yield* work.change(runId, { stage: "turn", instruction, raiRevisions: 0 })
              }
              yield* work.wake(runId)
              yield* log.append(runId, [...events, ...eventsOf(run, command)])
              return { run, changed: true }
            }
            const explained = yield* explain(runId, command, fence)
            if (explained !== undefined) return explained
          }
          return yield* refuse("conflict", { message: "The run is changing. Try again." })
        },
        (effect) => sql.transaction(effect),
      )

      const cancel = Effect.fn("Runs.cancel")(
        function* (runId: string, cause: Omit<Extract<RunCommand, { _tag: "Cancel" }>, "_tag">) {
          const command: RunCommand = { _tag: "Cancel", ...cause }
          const run = yield* store.change(runId, guardOf(command), changeOf(command), undefined)
          if (run === undefined) return { run: yield* get(runId), changed: false }
          const ended = [run]
          // a child that was being created meanwhile is seen by the next round
          while (true) {
            const below = yield* store.changeActiveDescendants(runId, changeOf(command))
            if (below.length === 0) break
            ended.push(...below)
          }
          ended.sort((a, b) => (a.runId < b.runId ? -1 : 1))
          for (const each of ended) yield* work.wake(each.runId)
          for (const each of ended) yield* log.append(each.runId, eventsOf(each, command))
          return { run, changed: true }
        },
        (effect) => sql.transaction(effect),
      )

      const retry = Effect.fn("Runs.retry")(
        function* (runId: string, by: string) {
          const source = yield* get(runId)
          const before = yield* Effect.fromResult(decideRetry(source, yield* store.retryOf(runId)))
          if (before !== undefined) return { run: before, changed: false }
          const run = yield* open(retrySpec(source, by), source)
          if (typeof run !== "string") return { run, changed: true }
          if (run !== "retried_already") return yield* refuse("project_deleting")
          const winner = yield* Effect.fromResult(decideRetry(source, yield* store.retryOf(runId)))
          return winner === undefined
            ? yield* refuse("conflict", { message: "The retry is being removed. Try again." })
            : { run: winner, changed: false }
        },
        (effect) => sql.transaction(effect),
      )

      return Runs.of({
        create,
        get,
        search: makeRunSearch(sql),
        transition,
        cancel,
        retry,
        record: Effect.fn("Runs.record")(
          function* (runId: string, facts: RunFacts, events: ReadonlyArray<NewEvent>, { fence }: Guarded = {}) {
            const run = yield* store.record(runId, facts, fence)
            if (run === undefined) {
              yield* get(runId)
              return yield* refuse("lease_lost")
            }
            yield* log.append(runId, events)
            return run
          },
          (effect) => sql.transaction(effect),
        ),
        archive: Effect.fn("Runs.archive")(function* (runId: string) {
          return (yield* store.archive(runId)) ?? (yield* refuse("run_not_found"))
        }),
        remove: Effect.fn("Runs.remove")(function* (runId: string, by: string) {
          // its own commit: who follows the run sees it end, and no child can be created any more
          yield* cancel(runId, { reason: "cancelled", by })
          return yield* sql.transaction(
            Effect.tap(store.remove(runId), (removed) =>
              Effect.forEach(removed, (gone) => log.remove(gone.runId), { discard: true }),
            ),
          )
        }),
        history: Effect.fn("Runs.history")(function* (runId: string) {
          const run = yield* get(runId)
          if (!isTerminal(run.status)) return yield* refuse("history_not_ready", { extra: { status: run.status } })
          return yield* historyOf(sql, run)
        }),
        activeOfProject: store.activeOfProject,
      })
    }),
  )
}
