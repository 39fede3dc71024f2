/**
 * Asks one plugin one question. Whatever the plugin does, this ends within its time limit with an answer of the
 * question's form, no opinion, or a fault; it never fails and never runs in the asker's transaction.
 */
import { Cause, Duration, Effect, Exit, Option, Result, Schema, type Scope } from "effect"
import type { IoUse } from "#core/hook/handler.ts"
import { type AnyQuestion, HookFault, type HookReply } from "#core/hook.ts"
import { outsideTransaction } from "#core/sql.ts"
import type { Registered } from "#runtime/plugin-host/hooks/registry.ts"
import { inTime } from "#runtime/plugin-host/in-time.ts"

interface Asked {
  readonly by: Registered
  readonly durationMs: number
  readonly fuel: number | null
  readonly io?: IoUse
}

export type Outcome = Asked &
  (
    | {
        readonly _tag: "Answered"
        /** Decoded. */
        readonly answer: unknown
        /** As JSON value, encoded from what was decoded: nothing is in it that the schema does not know. */
        readonly encoded: unknown
      }
    | { readonly _tag: "Abstained" }
    | { readonly _tag: "Faulted"; readonly fault: HookFault }
  )

export type Call = (question: AnyQuestion, by: Registered, ask: string) => Effect.Effect<Outcome>

/** A plugin that does not stop when told to is left behind in this scope, not waited for. */
export const makeCall =
  (scope: Scope.Scope): Call =>
  (question, by, ask) =>
    Effect.gen(function* () {
      const started = performance.now()
      const limit = by.timeLimit === undefined ? question.timeLimit : Duration.min(by.timeLimit, question.timeLimit)
      const answering = outsideTransaction(Effect.suspend(() => by.answer(ask)))
      const exit = yield* inTime(answering, limit, scope)
      const asked = { by, durationMs: rounded(performance.now() - started) }
      return outcomeOf(question, asked, exit, limit)
    })

const outcomeOf = (
  question: AnyQuestion,
  asked: Omit<Asked, "fuel" | "io">,
  exit: Option.Option<Exit.Exit<HookReply | undefined, HookFault>>,
  limit: Duration.Duration,
): Outcome => {
  const faulted = (fault: HookFault, cost = costOf(fault)): Outcome => ({
    ...asked,
    _tag: "Faulted",
    fault: short(fault),
    ...cost,
  })
  if (Option.isNone(exit)) {
    return faulted(
      new HookFault({ reason: "timed_out", message: `It gave no answer in ${Duration.toMillis(limit)} ms.` }),
    )
  }
  if (Exit.isFailure(exit.value)) return faulted(faultOf(exit.value.cause))
  const reply = exit.value.value
  const cost = costOf(reply)
  if (reply === undefined || reply.noOpinion === true) return { ...asked, _tag: "Abstained", ...cost }
  const decoded = readAnswer(question, reply.answer)
  if (Result.isFailure(decoded)) {
    return faulted(new HookFault({ reason: "bad_answer", message: decoded.failure }), cost)
  }
  const answer = signed(question, decoded.success, asked.by.plugin)
  return { ...asked, _tag: "Answered", ...cost, answer, encoded: Schema.encodeUnknownSync(question.answer)(answer) }
}

const costOf = ({ fuel, io }: Pick<HookReply, "fuel" | "io"> = {}) => ({
  fuel: fuel ?? null,
  ...(io === undefined ? {} : { io }),
})

const readAnswer = (question: AnyQuestion, answer: unknown): Result.Result<unknown, string> => {
  const decoded = Schema.decodeUnknownResult(question.answer)(answer, { errors: "all" })
  return Result.mapError(decoded, (error) => error.message)
}

/** A refusal says whose it is, whatever the plugin wrote there. */
const signed = (question: AnyQuestion, answer: unknown, plugin: string): unknown =>
  question.kind === "guard" && typeof answer === "object" && answer !== null && "reason" in answer
    ? { ...answer, policy: plugin }
    : answer

/** Characters of a fault's message that are kept. */
const maxMessage = 500

/** Of the plugin's making: it goes into logs, events, and the answer to whoever is refused. */
const short = (fault: HookFault): HookFault =>
  fault.message.length <= maxMessage
    ? fault
    : new HookFault({ reason: fault.reason, message: fault.message.slice(0, maxMessage) })

const faultOf = (cause: Cause.Cause<HookFault>): HookFault => {
  const failure = Result.getOrUndefined(Cause.findError(cause))
  if (failure instanceof HookFault) return failure
  return new HookFault({ reason: "threw", message: String(Cause.squash(cause)) })
}

const rounded = (milliseconds: number): number => Math.round(milliseconds * 1_000) / 1_000
