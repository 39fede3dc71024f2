/** The two gates that a model answers: the responsible-AI pass over the whole, and the critique. */
import { Effect } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Hooks } from "#core/hook.ts"
import { subStreamId } from "#core/ids.ts"
import { type FileChange, isCut } from "#core/ports/checkouts.ts"
import { redact } from "#core/redaction.ts"
import { RaiError, RaiVerdict } from "#core/run/events/run.ts"
import { AgentMessage } from "#core/run/events/turn.ts"
import { raiReview } from "#policies/rai/question.ts"
import { verdictOf, verdicts } from "#policies/rai/verdict.ts"
import { planOf } from "#runtime/coordinator/evolve/parts.ts"
import { askModel, modelFailed, type Question } from "#runtime/coordinator/model/ask.ts"
import { prompt } from "#runtime/coordinator/model/prompt.ts"
import { critiqueAnswer, critiqueIn, raiGateAnswer, reviewQuestion } from "#runtime/coordinator/model/reviews.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { WorldFailed } from "#runtime/coordinator/world.ts"
import { asFarAsRead, onlyBeginning, partsOf } from "#runtime/runs/rai-review.ts"

/** What would be merged. */
export interface WholeChange {
  readonly diff: string
  readonly files: ReadonlyArray<FileChange>
}

const away = ({ message }: { readonly message: string }) =>
  new WorldFailed({ reason: "unavailable", message, retryable: true })

/** Asks a reviewer about every part of the change; what it says is kept in its own log. */
const askReviewer = Effect.fnUntraced(function* (
  state: CoordinatorState,
  reviewer: Pick<Question, "purpose" | "agentName" | "system"> & { readonly stream: "rai" | "rubberduck" },
  diff: string,
  round: number,
) {
  const log = yield* EventLog
  const { runId } = state.run
  const parts = partsOf(diff)
  const first = (planOf(state).assembly.round * 2 + round) * parts.length
  return yield* Effect.forEach(parts, (part, index) =>
    Effect.gen(function* () {
      const reply = yield* askModel(state, {
        ...reviewer,
        modelId: null,
        text: reviewQuestion(state, { diff: part, part: index + 1, of: parts.length, again: round > 0 }),
        step: first + index,
      }).pipe(Effect.mapError(modelFailed))
      const said = AgentMessage.of({ messageId: `${reviewer.stream}-${first + index}`, content: redact(reply.text) })
      yield* log.append(subStreamId(runId, reviewer.stream), [said, ...reply.usage]).pipe(Effect.mapError(away))
      return reply.text
    }),
  )
})

/** Policies are asked first and after every answer of the reviewer; they may settle it without one. */
export const raiGate = Effect.fn("coordinator.raiGate")(function* (
  state: CoordinatorState,
  { diff, files }: WholeChange,
) {
  const hooks = yield* Hooks
  const log = yield* EventLog
  const { runId } = state.run
  const { workPlanId, assembly } = planOf(state)
  const changed = files.map(({ path, status, addedLines, removedLines }) => ({
    path,
    status,
    addedLines,
    removedLines,
  }))
  const replies: Array<string> = []
  while (true) {
    const ask = { runId, workPlanId, treeHash: assembly.treeHash, files: changed, diff, replies: [...replies] }
    const answer = yield* hooks.ask(raiReview, ask, { runId }).pipe(Effect.mapError(away))
    if (answer.verdict === "ask_reviewer") {
      const reviewer = { purpose: "rai", agentName: "Rai", system: prompt("rai"), stream: "rai" } as const
      replies.push(worst(yield* askReviewer(state, reviewer, diff, replies.length)))
      continue
    }
    const said = asFarAsRead(answer.verdict, answer.rationale, diff)
    const verdict = RaiVerdict.of({ verdict: said.verdict, runId, rationale: redact(said.rationale) })
    const unreadable = answer.reason === "unparseable_after_reask"
    yield* log.append(subStreamId(runId, "rai"), [verdict]).pipe(Effect.mapError(away))
    yield* log
      .append(runId, unreadable ? [RaiError.of({ reason: "unparseable_after_reask" }), verdict] : [verdict])
      .pipe(Effect.mapError(away))
    return raiGateAnswer({ ...answer, ...said })
  }
})

/** The reply whose verdict is the most severe; one without a verdict counts as more than any. */
const worst = (replies: ReadonlyArray<string>): string =>
  replies.reduce((one, other) => (severity(other) > severity(one) ? other : one))

const severity = (reply: string): number => {
  const verdict = verdictOf(reply)
  return verdict === undefined ? verdicts.length : verdicts.indexOf(verdict)
}

export const critiqueGate = Effect.fn("coordinator.critiqueGate")(function* (
  state: CoordinatorState,
  { diff }: Pick<WholeChange, "diff">,
) {
  const reviewer = {
    purpose: "rubberduck",
    agentName: "Rubberduck",
    system: prompt("rubberduck"),
    stream: "rubberduck",
  } as const
  let replies: ReadonlyArray<string> = []
  for (let round = 0; round < 2; round++) {
    replies = yield* askReviewer(state, reviewer, diff, round)
    if (replies.every((reply) => critiqueIn(reply) !== undefined)) break
  }
  const reply = replies.find((each) => critiqueIn(each) === "request_changes") ?? replies.join("\n\n")
  return critiqueAnswer(isCut(diff) ? `${onlyBeginning}\n\n${reply}` : reply)
})
