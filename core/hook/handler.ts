/**
 * One plugin's answer to one question. The contract is JSON text in and a JSON value out, the same for a
 * function of this process (`handler`) and for a WebAssembly module.
 */
import { Data, type Duration, Effect, Schema } from "effect"
import type { AnyQuestion, Question } from "#core/hook/question.ts"

export const faultReasons = [
  "threw",
  "timed_out",
  "bad_answer",
  "trap",
  "out_of_fuel",
  "out_of_memory",
  "unavailable",
] as const
export type FaultReason = (typeof faultReasons)[number]

/** A plugin could not answer. What happens then is the question's business, not the plugin's. */
export class HookFault extends Data.TaggedError("HookFault")<{
  readonly reason: FaultReason
  readonly message: string
  readonly fuel?: number
  readonly io?: IoUse
}> {}

/** What a plugin asked of the world while it answered: the same question again may be answered otherwise. */
export interface IoUse {
  readonly calls: number
  /** `sha256:` and a digest of all that was asked and answered. */
  readonly digest: string
}

export interface HookReply {
  /** The answer as a JSON value. It is decoded with the question's schema before anybody sees it. */
  readonly answer: unknown
  /** True: it has no opinion, and `answer` is not looked at. As good as no reply, but that it took fuel. */
  readonly noOpinion?: boolean
  /** Fuel that the answer took, where it is metered. */
  readonly fuel?: number
  /** Absent: it depends on the question and the settings alone, where it is metered. */
  readonly io?: IoUse
}

/** `shadow`: asked beside the others and recorded, but never listened to. */
export const modes = ["enforce", "shadow"] as const
export type Mode = (typeof modes)[number]

/** What a plugin that cannot answer counts as: `closed`, the safe answer; `open`, not there. Guards are always closed. */
export const failures = ["closed", "open"] as const
export type Failure = (typeof failures)[number]

export interface HookHandler {
  /** The question's name. */
  readonly question: string
  /** Smaller is asked first; the plugin's name decides between equals. */
  readonly priority: number
  readonly mode: Mode
  readonly failure: Failure
  /** Less time than the question gives. */
  readonly timeLimit?: Duration.Duration
  /** Where these are not the plugin's own: they go into the receipt. */
  readonly version?: string
  readonly digest?: string
  readonly abi?: number
  /** Undefined: no opinion. It must not count on being asked in any transaction of the asker. */
  readonly answer: (ask: string) => Effect.Effect<HookReply | undefined, HookFault>
}

export const defaultPriority = 100

export interface HandlerOptions {
  readonly priority?: number
  readonly mode?: Mode
  readonly failure?: Failure
  readonly timeLimit?: Duration.Duration
}

/** A handler in this process, with the question's own types on both sides. */
export const handler = <Ask, Answer>(
  question: Question<Ask, Answer>,
  answer: (ask: Ask) => Effect.Effect<Answer | undefined, HookFault>,
  options: HandlerOptions = {},
): HookHandler => {
  // what is asked was encoded with this very schema; the union's members agree on Ask and Answer
  const known = question as AnyQuestion
  const decode = Schema.decodeUnknownSync(known.ask)
  const encode = Schema.encodeUnknownEffect(known.answer)
  return {
    question: known.name,
    priority: options.priority ?? defaultPriority,
    mode: options.mode ?? "enforce",
    failure: options.failure ?? "open",
    ...(options.timeLimit === undefined ? {} : { timeLimit: options.timeLimit }),
    answer: Effect.fnUntraced(function* (text: string) {
      const given = yield* answer(decode(JSON.parse(text)))
      if (given === undefined) return undefined
      const encoded = yield* encode(given).pipe(
        Effect.mapError((error) => new HookFault({ reason: "bad_answer", message: error.message })),
      )
      return { answer: encoded }
    }),
  }
}
