/**
 * The responsible-AI pass over one change: policies are asked first, and the reviewer (a model without tools) only
 * where they leave it to it. A large change is shown in parts; the most severe verdict counts.
 */
import { Effect, Stream } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Hooks } from "#core/hook.ts"
import { type FileChange, isCut, type Snapshot } from "#core/ports/checkouts.ts"
import { Models } from "#core/ports/models.ts"
import { redact } from "#core/redaction.ts"
import { RaiVerdict } from "#core/run/events/run.ts"
import { AgentMessage, TurnUsage } from "#core/run/events/turn.ts"
import type { Run } from "#core/run/run.ts"
import type { ModelPart } from "#core/wire/model.ts"
import { TurnInterrupted } from "#core/wire/turn.ts"
import { raiReview } from "#policies/rai/question.ts"
import { type Verdict, verdictOf } from "#policies/rai/verdict.ts"
import type { Held } from "#runtime/runs/held.ts"
import { raiQuestion, raiSystem } from "#runtime/runs/prompts.ts"

/** Characters of a diff that one question to the reviewer holds. */
const partSize = 120_000

/** Parts at the borders of lines. */
export const partsOf = (diff: string, size = partSize): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let rest = diff
  while (rest.length > size) {
    const border = rest.lastIndexOf("\n", size)
    const end = border > 0 ? border + 1 : size
    parts.push(rest.slice(0, end))
    rest = rest.slice(end)
  }
  return [...parts, rest]
}

interface Review {
  readonly run: Run
  readonly snapshot: Snapshot
  readonly files: ReadonlyArray<FileChange>
  readonly diff: string
  readonly held: Held
}

const severity: ReadonlyArray<Verdict> = ["green", "yellow", "revise", "red"]

/** The reply whose verdict is the most severe; one without a verdict counts as more than any. */
const worst = (replies: ReadonlyArray<string>): string =>
  replies.reduce((one, other) => (rank(other) > rank(one) ? other : one))

const rank = (reply: string): number => {
  const verdict = verdictOf(reply)
  return verdict === undefined ? severity.length : severity.indexOf(verdict)
}

/** Before what is said of a change that was cut. */
export const onlyBeginning = "The change is so long that only its beginning was read."

/** What nobody read is not green: a person should know of it. */
export const asFarAsRead = (verdict: Verdict, rationale: string, diff: string) =>
  verdict === "green" && isCut(diff)
    ? { verdict: "yellow" as const, rationale: `${onlyBeginning} ${rationale}` }
    : { verdict, rationale }

export const reviewByRai = Effect.fn("runs.rai")(function* ({ run, snapshot, files, diff }: Review) {
  const hooks = yield* Hooks
  const models = yield* Models
  const log = yield* EventLog
  const { runId } = run
  const parts = partsOf(diff)
  const stream = `${runId}-rai`
  const away = ({ message }: { readonly message: string }) => new TurnInterrupted({ reason: "unavailable", message })

  const ask = Effect.fnUntraced(function* (part: string, index: number, round: number) {
    const answer = models.stream({
      source: run.modelSource,
      modelId: run.modelId,
      system: raiSystem,
      messages: [
        { role: "user", text: raiQuestion({ task: run.task, part, index, of: parts.length, again: round > 0 }) },
      ],
      tools: [],
      labels: {
        runId,
        projectId: run.projectId,
        agentName: "Rai",
        purpose: "rai",
        step: (run.revisions * 2 + round) * parts.length + index,
      },
    })
    const said: ReadonlyArray<ModelPart> = yield* Stream.runCollect(answer)
    const text = said.map((one) => (one.kind === "text" ? one.delta : "")).join("")
    const end = said.find((one) => one.kind === "finish")
    yield* log
      .append(stream, [
        AgentMessage.of({ messageId: `rai-${round}-${index}`, content: redact(text) }),
        ...(end === undefined ? [] : [TurnUsage.of({ ...end.usage, modelId: end.modelId })]),
      ])
      .pipe(Effect.mapError(away))
    return text
  })

  const replies: Array<string> = []
  while (true) {
    const answer = yield* hooks
      .ask(
        raiReview,
        {
          runId,
          workPlanId: null,
          treeHash: snapshot.treeHash,
          files: files.map(({ path, status, addedLines, removedLines }) => ({
            path,
            status,
            addedLines,
            removedLines,
          })),
          diff,
          replies,
        },
        { runId },
      )
      .pipe(Effect.mapError(away))
    if (answer.verdict !== "ask_reviewer") {
      const { verdict, rationale } = asFarAsRead(answer.verdict, redact(answer.rationale), diff)
      yield* log.append(stream, [RaiVerdict.of({ verdict, runId, rationale })]).pipe(Effect.mapError(away))
      return { verdict, rationale, unreadable: answer.reason === "unparseable_after_reask" }
    }
    const round = replies.length
    const texts = yield* Effect.forEach(parts, (part, index) => ask(part, index, round))
    replies.push(worst(texts))
  }
})
