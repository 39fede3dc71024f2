import { expect, layer } from "@effect/vitest"
import { Effect, Exit, Result } from "effect"
import { EventLog } from "#core/event-log.ts"
import type { Refusal } from "#core/refusal.ts"
import { coordinatorAgent } from "#core/run/run.ts"
import { Runs } from "#core/run/runs.ts"
import { Sql } from "#core/sql.ts"
import { anotherReplica, coreServices } from "#test/support/core-services.ts"

const spec = { projectId: null, submittedBy: "ada", agentName: "Writer", task: "write it" }
const review = { _tag: "RequestReview", treeHash: "t1", diff: "+a", requestId: "q1" } as const

const create = Effect.flatMap(Runs, (runs) => runs.create(spec))

/** A run that waits for its review. */
const reviewed = Effect.gen(function* () {
  const runs = yield* Runs
  const { runId } = yield* create
  yield* runs.transition(runId, review)
  return runId
})

const typesOf = (runId: string) =>
  Effect.flatMap(EventLog, (log) => Effect.map(log.read(runId), (events) => events.map((event) => event.type)))

const refusalOf = <A, E>(effect: Effect.Effect<A, E | Refusal>) => Effect.flip(effect) as Effect.Effect<Refusal, A> // a test that loses its database fails anyway

layer(coreServices(), { excludeTestServices: true, timeout: "60 seconds" })("a run", (it) => {
  it.effect("begins pending, with its first event at sequence 1", () =>
    Effect.gen(function* () {
      const run = yield* create
      expect(run).toMatchObject({ status: "pending", workflowRunId: run.runId, endedAt: null, fence: 0 })
      const events = yield* (yield* EventLog).read(run.runId)
      expect(events.map((event) => [event.sequence, event.type])).toEqual([[1, "run.started"]])
      expect(yield* (yield* Runs).get(run.runId)).toEqual(run)
    }),
  )

  it.effect("goes through review, revision and merge, and tells of each step in the same commit", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { runId } = yield* create
      const go = (command: Parameters<typeof runs.transition>[1]) =>
        Effect.map(runs.transition(runId, command), ({ run }) => run)
      expect((yield* go({ _tag: "Start", worktreePath: "/w", worktreeBranch: "b" })).status).toBe("in_progress")
      expect((yield* go(review)).reviewReadyAt).not.toBeNull()
      const again = yield* go({ _tag: "RequestChanges", comment: "more", by: "eve", maxRevisions: 3 })
      expect(again).toMatchObject({ status: "in_progress", revisions: 1, reviewReadyAt: null, endedAt: null })
      yield* go({ ...review, treeHash: "t2" })
      const late = yield* Effect.flip(go({ _tag: "Approve", by: "eve", treeHash: "t1" }))
      expect(late).toMatchObject({ code: "worktree_changed" })
      expect(yield* go({ _tag: "Approve", by: "eve" })).toMatchObject({ status: "merging", reviewedBy: "eve" })
      yield* go({ _tag: "BlockMerge", reason: "dirty tree" })
      yield* go({ _tag: "TakeCommitSlot", by: "ada" })
      yield* go({ _tag: "StartMerge", by: "bob" })
      const merged = yield* go({ _tag: "CompleteMerge", commit: "c0ffee", mode: "ref-only" })
      expect(merged).toMatchObject({ status: "merged", result: "merged:c0ffee", treeHash: "t2", reviewedBy: "bob" })
      expect(merged.endedAt).not.toBeNull()
      expect(yield* typesOf(runId)).toEqual([
        "run.started",
        "review.requested",
        "review.changes_requested",
        "revision.started",
        "review.requested",
        "review.approved",
        "merge.started",
        "run.error",
        "merge.started",
        "merge.completed",
      ])
    }),
  )

  it.effect("keeps the files that conflicted", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const runId = yield* reviewed
      yield* runs.transition(runId, { _tag: "Approve", by: "ada" })
      const { run } = yield* runs.transition(runId, { _tag: "FailMerge", reason: "overlap", conflicts: ["a,b", 'c"d'] })
      expect(run).toMatchObject({ status: "merge_failed", mergeConflicts: ["a,b", 'c"d'], result: "conflict:overlap" })
    }),
  )

  it.effect("answers the same decision twice alike, and tells of it once", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const runId = yield* reviewed
      const first = yield* runs.transition(runId, { _tag: "Approve", by: "ada" })
      const second = yield* runs.transition(runId, { _tag: "Approve", by: "ada" })
      expect([first.changed, second.changed]).toEqual([true, false])
      expect(second.run).toEqual(first.run)
      expect((yield* typesOf(runId)).filter((type) => type === "review.approved")).toHaveLength(1)
      const refused = yield* refusalOf(runs.transition(runId, { _tag: "Decline", by: "eve" }))
      expect([refused.code, refused.extra]).toEqual(["conflict", { status: "merging" }])
    }),
  )

  it.effect("that is not there is not found", () =>
    Effect.gen(function* () {
      const refused = yield* refusalOf((yield* Runs).transition(crypto.randomUUID(), { _tag: "Decline", by: "ada" }))
      expect(refused.code).toBe("run_not_found")
    }),
  )

  it.effect("takes an approval or a refusal of two replicas at once, exactly one of the two, 200 times", () =>
    Effect.gen(function* () {
      const here = yield* Runs
      const there = (yield* anotherReplica()).runs
      let won = 0
      for (let round = 0; round < 200; round++) {
        const runId = yield* reviewed
        const order = round % 2 === 0 ? ([here, there] as const) : ([there, here] as const)
        const answers = yield* Effect.all(
          [
            Effect.result(order[0].transition(runId, { _tag: "Approve", by: "ada" })),
            Effect.result(order[1].transition(runId, { _tag: "Decline", by: "eve" })),
          ],
          { concurrency: 2 },
        )
        const { status } = yield* here.get(runId)
        const told = (yield* typesOf(runId)).filter((type) => /review\.(approved|declined)/.test(type))
        const winner = answers.findIndex(Result.isSuccess)
        const expected = winner === 0 ? ["merging", "review.approved"] : ["declined", "review.declined"]
        const refusals = answers.flatMap((answer) => (Result.isFailure(answer) ? [answer.failure] : []))
        const refused = refusals.map((failure) => (failure._tag === "Refusal" ? failure.status : 503))
        if (refused.join() === "409" && status === expected[0] && told.join() === expected[1]) won++
      }
      expect(won).toBe(200)
    }),
  )

  it.effect("refuses an owner whose fence is old", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const sql = yield* Sql
      const { runId } = yield* create
      yield* sql`update runs set fence = 7 where run_id = ${runId}`
      const stale = yield* refusalOf(runs.transition(runId, review, { fence: 6 }))
      expect(stale.code).toBe("lease_lost")
      expect((yield* refusalOf(runs.record(runId, { steps: 1 }, [], { fence: 6 }))).code).toBe("lease_lost")
      expect((yield* runs.record(runId, { steps: 2, outcomeAchieved: true }, [], { fence: 7 })).stepCount).toBe(2)
      expect((yield* runs.transition(runId, review, { fence: 7 })).changed).toBe(true)
    }),
  )

  it.effect("takes its children along when it is cancelled, at every depth, once", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const parent = yield* runs.create({ ...spec, agentName: coordinatorAgent })
      const child = yield* runs.create({ ...spec, parentRunId: parent.runId, subtaskId: 4, submittedBy: "someone" })
      const grandchild = yield* runs.create({ ...spec, parentRunId: child.runId })
      const done = yield* runs.create({ ...spec, parentRunId: parent.runId, subtaskId: 5 })
      yield* runs.transition(done.runId, { _tag: "Complete", result: "no_changes" })
      expect(child).toMatchObject({ parentRunId: parent.runId, subtaskId: 4, submittedBy: "ada" })

      const first = yield* runs.cancel(parent.runId, { reason: "cancelled", by: "ada" })
      expect(first).toMatchObject({ changed: true, run: { status: "failed", result: "cancelled" } })
      for (const { runId } of [parent, child, grandchild]) {
        expect((yield* runs.get(runId)).status).toBe("failed")
        expect(yield* typesOf(runId)).toEqual(["run.started", "run.cancelled"])
      }
      expect((yield* runs.get(done.runId)).status).toBe("completed")
      expect((yield* runs.cancel(parent.runId, { reason: "cancelled", by: "ada" })).changed).toBe(false)
      expect(yield* typesOf(parent.runId)).toHaveLength(2)
      const late = yield* refusalOf(runs.create({ ...spec, parentRunId: parent.runId }))
      expect(late.code).toBe("run_not_active")
    }),
  )

  it.effect("leaves no child running when one is created while it is cancelled", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const there = (yield* anotherReplica()).runs
      for (let round = 0; round < 25; round++) {
        const parent = yield* runs.create(spec)
        const [, created] = yield* Effect.all(
          [
            runs.cancel(parent.runId, { reason: "cancelled", by: "ada" }),
            Effect.exit(there.create({ ...spec, parentRunId: parent.runId })),
          ],
          { concurrency: 2 },
        )
        if (Exit.isSuccess(created)) expect((yield* runs.get(created.value.runId)).status).toBe("failed")
      }
    }),
  )

  it.effect("is removed with its children and their logs", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const log = yield* EventLog
      const parent = yield* create
      const child = yield* runs.create({ ...spec, parentRunId: parent.runId })
      yield* runs.remove(parent.runId, "ada")
      for (const { runId } of [parent, child]) {
        expect((yield* refusalOf(runs.get(runId))).code).toBe("run_not_found")
        expect(yield* log.read(runId)).toEqual([])
      }
      expect((yield* refusalOf(runs.remove(parent.runId, "ada"))).code).toBe("run_not_found")
    }),
  )

  it.effect("is retried as one linked run, however many ask at once", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const there = (yield* anotherReplica()).runs
      const source = yield* runs.create({ ...spec, workflow: { id: "w", name: "W", reason: null } })
      yield* runs.cancel(source.runId, { reason: "cancelled", by: "ada" })
      const answers = yield* Effect.forEach(
        [runs, there, runs, there],
        (replica) => replica.retry(source.runId, "ada"),
        {
          concurrency: 4,
        },
      )
      expect(new Set(answers.map(({ run }) => run.runId)).size).toBe(1)
      expect(answers.filter(({ changed }) => changed)).toHaveLength(1)
      const retry = yield* runs.get(answers[0]?.run.runId ?? "")
      expect(retry).toMatchObject({
        retriedFrom: source.runId,
        workflowRunId: source.runId,
        retryDepth: 1,
        workflowId: "w",
        task: source.task,
      })
      expect(yield* typesOf(retry.runId)).toEqual(["run.started", "run.approval_policy_selected"])
    }),
  )

  it.effect("has a history only after its end", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { runId } = yield* create
      expect((yield* refusalOf(runs.history(runId))).code).toBe("history_not_ready")
      yield* runs.transition(runId, { _tag: "Complete", result: "no_changes" })
      const items = yield* runs.history(runId)
      expect(items.map((item) => item.type)).toEqual(["run.started", "run.completed"])
      expect(items[0]).toMatchObject({ id: `${runId}:1`, agent_id: "Writer", ephemeral: false })
    }),
  )

  it.effect("keeps the time when it was first archived", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { runId } = yield* create
      const first = yield* runs.archive(runId)
      expect(first.archivedAt).not.toBeNull()
      expect((yield* runs.archive(runId)).archivedAt).toBe(first.archivedAt)
    }),
  )
})
