import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { RunCommand } from "#core/run/command.ts"
import { decide, evolve } from "#core/run/decide.ts"
import type { RunState } from "#core/run/run.ts"
import { type RunStatus, runStatuses } from "#core/run/status.ts"

const by = "ada"

const commands: Record<RunCommand["_tag"], RunCommand> = {
  Start: { _tag: "Start", worktreePath: "/w", worktreeBranch: "svc/run" },
  RequestReview: { _tag: "RequestReview", treeHash: "t1", diff: "+a", requestId: "q1" },
  RequestChanges: { _tag: "RequestChanges", comment: "again", by, maxRevisions: 10 },
  Decline: { _tag: "Decline", by },
  Approve: { _tag: "Approve", by },
  TakeCommitSlot: { _tag: "TakeCommitSlot", by: "ada" },
  ReleaseCommitSlot: { _tag: "ReleaseCommitSlot", reason: "index locked" },
  StartMerge: { _tag: "StartMerge", by },
  BlockMerge: { _tag: "BlockMerge", reason: "dirty tree" },
  CompleteMerge: { _tag: "CompleteMerge", commit: "c1", mode: "ref-only" },
  FailMerge: { _tag: "FailMerge", reason: "overlap", conflicts: ["a.txt"] },
  AssembleReady: {
    _tag: "AssembleReady",
    treeHash: "t1",
    worktreeBranch: "svc/child",
    diff: "+a",
    hasChanges: true,
    raiSafetyFlagged: false,
  },
  Reopen: { _tag: "Reopen", comment: "again", by },
  Complete: { _tag: "Complete", result: "no_changes" },
  Fail: { _tag: "Fail", message: "broke", errorCode: "agent_turn_internal_error", retryable: true },
  Cancel: { _tag: "Cancel", reason: "cancelled", by },
}

const P = "pending"
const I = "in_progress"
const A = "awaiting_review"
const C = "committing"
const M = "merging"
const active: ReadonlyArray<RunStatus> = [P, I, A, C, M]

const to = (status: RunStatus, from: ReadonlyArray<RunStatus>): Partial<Record<RunStatus, RunStatus>> =>
  Object.fromEntries(from.map((one) => [one, status]))

/** The whole table: status before → status after, or `same` where it was done before. Everything else is refused. */
const table: Record<RunCommand["_tag"], Partial<Record<RunStatus, RunStatus | "same">>> = {
  Start: { ...to(I, [P]), in_progress: "same" },
  RequestReview: to(A, active),
  RequestChanges: to(I, [A]),
  Decline: { ...to("declined", [A]), declined: "same" },
  Approve: { ...to(M, [A]), merging: "same", merged: "same", merge_failed: "same" },
  TakeCommitSlot: to(C, [A]),
  ReleaseCommitSlot: { ...to(A, [C]), awaiting_review: "same" },
  StartMerge: to(M, [A, C]),
  BlockMerge: { ...to(A, [M]), awaiting_review: "same" },
  CompleteMerge: { ...to("merged", [M]), merged: "same" },
  FailMerge: { ...to("merge_failed", [M]), merge_failed: "same" },
  AssembleReady: { ...to("assemble_ready", active), assemble_ready: "same" },
  Reopen: to(I, ["assemble_ready", "completed"]),
  Complete: { ...to("completed", active), completed: "same" },
  Fail: { ...to("failed", active), failed: "same" },
  Cancel: to("failed", active),
}

const events: Record<RunCommand["_tag"], ReadonlyArray<string>> = {
  Start: [],
  RequestReview: ["review.requested"],
  RequestChanges: ["review.changes_requested", "revision.started"],
  Decline: ["review.declined"],
  Approve: ["review.approved", "merge.started"],
  TakeCommitSlot: [],
  ReleaseCommitSlot: ["run.error"],
  StartMerge: ["merge.started"],
  BlockMerge: ["run.error"],
  CompleteMerge: ["merge.completed"],
  FailMerge: ["merge.conflicted", "merge.failed"],
  AssembleReady: ["run.assemble_ready"],
  Reopen: ["revision.started"],
  Complete: ["run.completed"],
  Fail: ["run.failed"],
  Cancel: ["run.cancelled"],
}

const child = (status: RunStatus): RunState => ({
  runId: "r",
  status,
  parentRunId: "parent",
  subtaskId: 1,
  treeHash: null,
  worktreeBranch: null,
  stepCount: 3,
  revisions: 0,
  result: null,
  reviewedBy: null,
  endedAt: null,
})

const outcome = (state: RunState, command: RunCommand): string =>
  Result.match(decide(state, command), {
    onFailure: (refusal) => `refused ${refusal.code}`,
    onSuccess: (decision) => (decision._tag === "Repeat" ? "same" : evolve(state, decision.change).status),
  })

describe("a run", () => {
  const rows = Object.values(commands).flatMap((command) => runStatuses.map((status) => [command, status] as const))

  it.each(rows)("%o in %s moves as the table says", (command, status) => {
    const expected = table[command._tag][status]
    const said = outcome(child(status), command)
    if (expected !== undefined) expect(said).toBe(expected)
    else expect(said).toBe(active.includes(status) ? "refused conflict" : "refused run_not_active")
  })

  it.each(Object.values(commands))("tells of $_tag by its events", (command) => {
    const from = runStatuses.find((status) => (table[command._tag][status] ?? "same") !== "same") ?? P
    const decided = Result.getOrThrow(decide(child(from), command))
    const told = decided._tag === "Change" ? decided.events.map((event) => event.type) : []
    expect(told).toEqual(events[command._tag])
  })

  it("is approved as what was looked at, and as nothing else", () => {
    const looked = { ...commands.Approve, treeHash: "t1" } as RunCommand // the tag does not change
    expect(outcome({ ...child(A), treeHash: "t1" }, looked)).toBe(M)
    expect(outcome({ ...child(A), treeHash: "t2" }, looked)).toBe("refused worktree_changed")
  })

  it("says the status it is in when it refuses", () => {
    const refused = decide(child("declined"), commands.Approve)
    expect(Result.isFailure(refused) && refused.failure.extra).toEqual({ status: "declined" })
  })

  it("is assembled only as a child", () => {
    expect(outcome({ ...child(I), parentRunId: null }, commands.AssembleReady)).toBe("refused conflict")
  })

  it("is cancelled as failed by a person and as cancelled with its project", () => {
    expect(outcome(child(I), { _tag: "Cancel", reason: "steering_stop", by })).toBe("failed")
    expect(outcome(child(I), { _tag: "Cancel", reason: "project_deleted", by })).toBe("cancelled")
  })

  it("takes as many revisions as it may have and not one more", () => {
    const bounded = { ...commands.RequestChanges, maxRevisions: 2 } as RunCommand // the tag does not change
    expect(outcome({ ...child(A), revisions: 1 }, bounded)).toBe(I)
    expect(outcome({ ...child(A), revisions: 2 }, bounded)).toBe("refused revision_limit_reached")
  })

  it("says that nothing was made before it says that it is ready", () => {
    const decided = Result.getOrThrow(decide(child(I), { ...commands.AssembleReady, hasChanges: false } as RunCommand)) // as above
    expect(decided._tag === "Change" && decided.events.map((event) => event.type)).toEqual([
      "run.no_changes_produced",
      "run.assemble_ready",
    ])
  })
})
