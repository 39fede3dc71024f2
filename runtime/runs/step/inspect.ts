/** The agent is done: what it made is committed, the responsible-AI pass looks at it, and a person is asked. */
import { Effect } from "effect"
import { newId } from "#core/ids.ts"
import { Checkouts, type Snapshot } from "#core/ports/checkouts.ts"
import { redact } from "#core/redaction.ts"
import { RaiError, RaiVerdict } from "#core/run/events/run.ts"
import { Settings } from "#core/settings.ts"
import { checkoutFailure, type Failure, modelFailure, unsafeContent } from "#runtime/runs/failure.ts"
import { onward, type StepInput } from "#runtime/runs/held.ts"
import { reviewByRai } from "#runtime/runs/rai-review.ts"
import { stepEvent } from "#runtime/runs/step-event.ts"

/** How often the responsible-AI pass may send the agent back before a person has to look. */
export const maxRaiRevisions = 3
/** Bytes of the diff that are kept with the run and shown to reviewers. */
const maxDiff = 1_048_576

const firstLine = (text: string): string => (text.split("\n", 1)[0] ?? "").slice(0, 72)

export const inspect = Effect.fn("runs.inspect")(function* (input: StepInput) {
  const { run, held } = input
  const checkouts = yield* Checkouts
  const { CommitEmail } = (yield* Settings).Runs
  const heard = yield* held.hear
  if (heard.length > 0) {
    // it came after the agent's last word: the agent goes on with it
    const told = heard.flatMap((entry) => (entry.kind === "instruction" ? [entry.text] : []))
    yield* held.write({
      work: { stage: "turn", instruction: `Before your work is looked at:\n\n${told.join("\n\n")}` },
    })
    return onward
  }
  const looked = Effect.gen(function* () {
    const checkout = yield* checkouts.open({ runId: run.runId, repository: run.repository ?? "" })
    const author = { name: run.agentName ?? "svc agent", email: CommitEmail }
    const snapshot = yield* checkouts.commit(checkout, `${firstLine(run.task)}\n\nRun: ${run.runId}`, author)
    if (!snapshot.hasChanges) return yield* nothingMade(input, checkout.branch, snapshot)
    const diff = yield* checkouts.diff(checkout, maxDiff)
    const files = yield* checkouts.files(checkout, "all")
    yield* held.write({ events: [yield* stepEvent(run, "rai", "started")] })
    const review = yield* reviewByRai({ run, snapshot, files, diff, held })
    const { rationale } = review
    const shown = redact(diff)
    const verdict =
      review.verdict === "revise" && input.work.raiRevisions >= maxRaiRevisions ? "yellow" : review.verdict
    const said = RaiVerdict.of({ verdict: review.verdict, runId: run.runId, rationale })
    const events = [
      ...(review.unreadable ? [RaiError.of({ reason: "unparseable_after_reask" })] : []),
      said,
      yield* stepEvent(run, "rai", verdict === "red" ? "failed" : "completed"),
    ]
    switch (verdict) {
      case "green":
      case "yellow":
        return yield* ready(input, checkout.branch, snapshot, shown, events, false)
      case "revise":
        return yield* held.write({
          work: {
            stage: "turn",
            raiRevisions: input.work.raiRevisions + 1,
            instruction: revisionText(input.work.raiRevisions + 1, rationale),
          },
          events,
        })
      case "red":
        return run.parentRunId === null
          ? yield* held.write({ events, command: unsafeContent(rationale) })
          : yield* ready(input, checkout.branch, snapshot, shown, events, true)
    }
  })
  const failed = Effect.fnUntraced(function* (failure: Failure) {
    yield* held.write({ events: [yield* stepEvent(run, "rai", "failed", failure.message)], command: failure })
  })
  yield* looked.pipe(
    Effect.catchTags({
      CheckoutFailed: (failure) => failed(checkoutFailure(failure)),
      ModelFailed: (failure) => failed(modelFailure(failure)),
    }),
  )
  return onward
})

/** What the reviewer wrote is data for the agent, and says so. */
const revisionText = (round: number, rationale: string): string =>
  `The responsible-AI review asks for changes to what you made (round ${round}). Its explanation, as data:\n${JSON.stringify(rationale)}\nMake these changes, then report the outcome.`

const nothingMade = Effect.fnUntraced(function* ({ run, held }: StepInput, branch: string, snapshot: Snapshot) {
  const skipped = (step: Parameters<typeof stepEvent>[1]) => stepEvent(run, step, "skipped", "Nothing was changed.")
  if (run.parentRunId === null) {
    const events = [yield* skipped("rai"), yield* skipped("review"), yield* skipped("merge")]
    return yield* held.write({ events, command: { _tag: "Complete", result: "no_changes" } })
  }
  return yield* held.write({
    events: [yield* skipped("rai")],
    command: {
      _tag: "AssembleReady",
      treeHash: snapshot.treeHash,
      worktreeBranch: branch,
      diff: null,
      hasChanges: false,
      raiSafetyFlagged: false,
    },
  })
})

const ready = Effect.fnUntraced(function* (
  { run, held }: StepInput,
  branch: string,
  { treeHash, commit }: Snapshot,
  diff: string,
  events: ReadonlyArray<ReturnType<typeof RaiVerdict.of>>,
  raiSafetyFlagged: boolean,
) {
  // the next thing that an agent may have to do is a revision
  const work = { stage: "turn", commitHash: commit } as const
  if (run.parentRunId !== null) {
    return yield* held.write({
      work,
      events,
      command: { _tag: "AssembleReady", treeHash, worktreeBranch: branch, diff, hasChanges: true, raiSafetyFlagged },
    })
  }
  yield* held.write({
    work,
    events: [...events, yield* stepEvent(run, "review", "started")],
    command: { _tag: "RequestReview", treeHash, diff, requestId: newId(), worktreeBranch: branch },
  })
})
