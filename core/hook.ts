/**
 * Asks the plugins, and makes one answer of theirs. One ask sees one set of plugins from beginning to end,
 * whatever is exchanged meanwhile; the order is the same every time (priority, then name); every answer is
 * decoded by the question's schema; a plugin that cannot answer costs its time limit at most.
 *
 * With a `runId`, what was decided is in that run's log before the answer is given: ask outside of
 * transactions, and act afterwards.
 */
import { Context, Effect, Layer } from "effect"
import type { AnyQuestion, GuardAnswer, GuardQuestion, Question } from "#core/hook/question.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"

export {
  type Failure,
  type FaultReason,
  faultReasons,
  type HandlerOptions,
  HookFault,
  type HookHandler,
  type HookReply,
  handler,
  type Mode,
} from "#core/hook/handler.ts"
export {
  type AnyQuestion,
  agree,
  allowed,
  alwaysClosed,
  type DecideQuestion,
  decideQuestion,
  GuardAnswer,
  type GuardQuestion,
  guardQuestion,
  type Question,
  type QuestionKind,
  questionSchema,
  type RefineQuestion,
  refineQuestion,
  refusedBecause,
} from "#core/hook/question.ts"

export interface AskOptions {
  /** The run that the question is about: its log keeps the decision. */
  readonly runId?: string
}

export interface HooksShape {
  /**
   * Fails with `plugin_unavailable` only where a `refine` plugin that fails closed could not answer. An input
   * that is not of the question's form is a defect.
   */
  readonly ask: <Ask, Answer>(
    question: Question<Ask, Answer>,
    input: Ask,
    options?: AskOptions,
  ) => Effect.Effect<Answer, Refusal | DatabaseUnavailable>
  /** Asks a guard; its refusal is a `refused_by_policy`. */
  readonly permit: <Ask>(
    question: GuardQuestion<Ask>,
    input: Ask,
    options?: AskOptions,
  ) => Effect.Effect<void, Refusal | DatabaseUnavailable>
}

export class Hooks extends Context.Service<Hooks, HooksShape>()("core/Hooks") {
  /** Without plugins: every question has its built-in answer, and nothing is recorded. */
  static readonly layerBuiltIn: Layer.Layer<Hooks> = Layer.sync(Hooks, () =>
    hooksOf((question, input) => Effect.sync(() => question.builtIn(input))),
  )
}

/** Asks any question. The answer must have been decoded with the question's schema. */
export type AskAny = (
  question: AnyQuestion,
  input: unknown,
  options: AskOptions,
  // biome-ignore lint/suspicious/noExplicitAny: of the type that the question says; `hooksOf` gives it back its name
) => Effect.Effect<any, Refusal | DatabaseUnavailable>

export const hooksOf = (ask: AskAny): HooksShape => ({
  // every question is one of these; the conditional type of `Question` hides that
  ask: (question, input, options = {}) => ask(question as AnyQuestion, input, options),
  permit: Effect.fnUntraced(function* (question, input, options = {}) {
    const answer: GuardAnswer = yield* ask(question, input, options)
    if (answer.decision === "allow") return
    return yield* refuse("refused_by_policy", {
      message: answer.reason,
      extra: { question: question.name, ...(answer.policy === undefined ? {} : { policy: answer.policy }) },
    })
  }),
})
