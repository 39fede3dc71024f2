/** What was approved becomes part of the branch: exactly the commit that was looked at, and once. */
import { Effect } from "effect"
import { Checkouts } from "#core/ports/checkouts.ts"
import { Settings } from "#core/settings.ts"
import { internalError } from "#runtime/runs/failure.ts"
import { onward, type StepInput } from "#runtime/runs/held.ts"
import { stepEvent } from "#runtime/runs/step-event.ts"

const firstLine = (text: string): string => (text.split("\n", 1)[0] ?? "").slice(0, 72)

export const merge = Effect.fn("runs.merge")(function* ({ run, work, held }: StepInput) {
  const checkouts = yield* Checkouts
  const { CommitEmail } = (yield* Settings).Runs
  const { commitHash } = work
  const { repository, originatingBranch } = run
  if (commitHash === null || repository === null || originatingBranch === null) {
    yield* held.write({ command: internalError("It is not known what is to be merged into which branch.") })
    return onward
  }
  yield* held.write({ events: [yield* stepEvent(run, "merge", "started")] })
  const merged = checkouts.merge({
    repository,
    branch: originatingBranch,
    commit: commitHash,
    message: `Merge ${run.worktreeBranch ?? run.runId}: ${firstLine(run.task)}`,
    author: { name: "svc", email: CommitEmail },
  })
  const result = yield* merged.pipe(
    Effect.catchTag("CheckoutFailed", ({ message }) => Effect.succeed({ _tag: "Blocked", reason: message } as const)),
  )
  switch (result._tag) {
    case "Merged":
      yield* held.write({
        events: [yield* stepEvent(run, "merge", "completed")],
        command: { _tag: "CompleteMerge", commit: result.commit, mode: result.mode, previousHead: result.previousHead },
      })
      return onward
    case "Blocked":
      yield* held.write({
        events: [yield* stepEvent(run, "merge", "failed", result.reason), yield* stepEvent(run, "review", "started")],
        command: { _tag: "BlockMerge", reason: result.reason },
      })
      return onward
    case "Conflict":
      yield* held.write({
        events: [yield* stepEvent(run, "merge", "failed", result.reason)],
        command: { _tag: "FailMerge", reason: result.reason, conflicts: result.files },
      })
      return onward
  }
})

/** A person merges without a review decision: first whatever is in the checkout is committed. */
export const commit = Effect.fn("runs.commit")(function* ({ run, held }: StepInput) {
  const checkouts = yield* Checkouts
  const { CommitEmail } = (yield* Settings).Runs
  const committed = Effect.gen(function* () {
    const checkout = yield* checkouts.open({ runId: run.runId, repository: run.repository ?? "" })
    const author = { name: run.reviewedBy ?? "svc", email: CommitEmail }
    const snapshot = yield* checkouts.commit(checkout, firstLine(run.task), author)
    yield* held.write({
      work: { commitHash: snapshot.commit },
      command: { _tag: "StartMerge", by: run.reviewedBy ?? "svc", treeHash: snapshot.treeHash },
    })
  })
  yield* committed.pipe(
    Effect.catchTag("CheckoutFailed", ({ message }) =>
      Effect.flatMap(stepEvent(run, "review", "started"), (event) =>
        held.write({ events: [event], command: { _tag: "ReleaseCommitSlot", reason: message } }),
      ),
    ),
  )
  return onward
})
