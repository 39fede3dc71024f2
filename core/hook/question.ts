/**
 * A question that plugins may answer in place of the service: what is asked, what may be answered, and how
 * one answer is made of many.
 *
 * - `decide`: asked in order; the first answer wins; where nobody answers, the built-in answer counts.
 * - `guard`: all are asked; the first refusal in order wins; a guard that cannot answer refuses.
 * - `refine`: each receives what the one before it returned.
 *
 * Both sides have a schema, and what crosses is JSON: a question can be answered in another language.
 */
import { Duration, Schema } from "effect"
import { canonicalJson } from "#core/canonical-json.ts"

export type QuestionKind = "decide" | "guard" | "refine"

export const GuardAnswer = Schema.Union([
  Schema.Struct({ decision: Schema.Literal("allow") }),
  Schema.Struct({
    decision: Schema.Literal("refuse"),
    /** For whoever is refused: what was not allowed, and what to do instead. */
    reason: Schema.String,
    /** The plugin that refused. Set by the service, whatever the plugin says. */
    policy: Schema.optionalKey(Schema.String),
  }),
]).annotate({ identifier: "GuardAnswer" })
export type GuardAnswer = typeof GuardAnswer.Type

export const allowed: GuardAnswer = { decision: "allow" }
export const refusedBecause = (reason: string): GuardAnswer => ({ decision: "refuse", reason })

interface QuestionBase<Ask, Answer> {
  /** As plugins name it: `steering.decide`. */
  readonly name: string
  /** One line: when it is asked. */
  readonly summary: string
  readonly ask: Schema.Codec<Ask, unknown>
  readonly answer: Schema.Codec<Answer, unknown>
  /** The service's own answer. Pure: no clock, no chance, no state. */
  readonly builtIn: (ask: Ask) => Answer
  /** Time that one plugin has for one answer; a plugin may set itself less, never more. */
  readonly timeLimit: Duration.Duration
  /** What of an answer counts when two are compared: two explanations may differ, two decisions must not. */
  readonly essence: (answer: Answer) => unknown
  /** What of the question a run's log keeps, where it was answered so: all of it where absent. */
  readonly kept?: (ask: Ask, answer: Answer) => Ask
}

export interface DecideQuestion<Ask, Answer> extends QuestionBase<Ask, Answer> {
  readonly kind: "decide"
  /**
   * The answer where a plugin that fails closed cannot give one; the built-in answer where absent.
   * `closed: true`: plugins have no choice, they all fail closed.
   */
  readonly safe: ((ask: Ask, fault: string) => Answer) | undefined
  readonly closed: boolean
}

export interface GuardQuestion<Ask> extends QuestionBase<Ask, GuardAnswer> {
  readonly kind: "guard"
}

export interface RefineQuestion<Ask, Answer> extends QuestionBase<Ask, Answer> {
  readonly kind: "refine"
  /** The question to the next plugin: what was asked, with the answer of the one before in it. */
  readonly refined: (ask: Ask, answer: Answer) => Ask
}

export type Question<Ask, Answer> =
  | DecideQuestion<Ask, Answer>
  | (Answer extends GuardAnswer ? GuardQuestion<Ask> : never)
  | RefineQuestion<Ask, Answer>

/** A question in a list of all: its types are known to those who ask and answer it. */
// biome-ignore lint/suspicious/noExplicitAny: the contract is where the types of one question end
export type AnyQuestion = DecideQuestion<any, any> | GuardQuestion<any> | RefineQuestion<any, any>

/** Where a question says nothing else. A policy in WebAssembly has 50 ms; native ones may look something up. */
export const defaultTimeLimit = Duration.seconds(2)

interface Common<Ask> {
  readonly name: string
  readonly summary: string
  readonly ask: Schema.Codec<Ask, unknown>
  readonly timeLimit?: Duration.Duration
}

interface Answering<Ask, Answer> extends Common<Ask> {
  readonly answer: Schema.Codec<Answer, unknown>
  readonly builtIn: (ask: Ask) => Answer
  readonly essence?: (answer: Answer) => unknown
  readonly kept?: (ask: Ask, answer: Answer) => Ask
}

const whole = (answer: unknown): unknown => answer

export const decideQuestion = <Ask, Answer>(
  spec: Answering<Ask, Answer> & {
    readonly safe?: (ask: Ask, fault: string) => Answer
    readonly closed?: boolean
  },
): DecideQuestion<Ask, Answer> => ({
  timeLimit: defaultTimeLimit,
  essence: whole,
  ...spec,
  kind: "decide",
  safe: spec.safe,
  closed: spec.closed ?? false,
})

export const guardQuestion = <Ask>(
  spec: Common<Ask> & {
    readonly builtIn?: (ask: Ask) => GuardAnswer
    readonly kept?: (ask: Ask, answer: GuardAnswer) => Ask
  },
): GuardQuestion<Ask> => ({
  timeLimit: defaultTimeLimit,
  builtIn: () => allowed,
  ...spec,
  kind: "guard",
  answer: GuardAnswer,
  essence: ({ decision }) => decision,
})

export const refineQuestion = <Ask, Answer>(
  spec: Answering<Ask, Answer> & { readonly refined: (ask: Ask, answer: Answer) => Ask },
): RefineQuestion<Ask, Answer> => ({ timeLimit: defaultTimeLimit, essence: whole, ...spec, kind: "refine" })

/** Must a plugin that cannot answer this question be taken for the safe answer, whatever it says of itself? */
export const alwaysClosed = (question: AnyQuestion): boolean =>
  question.kind === "guard" || (question.kind === "decide" && question.closed)

/** Do two answers to this question decide the same? */
export const agree = (question: AnyQuestion, one: unknown, other: unknown): boolean => {
  // both were decoded with the question's own schema
  const essence = question.essence as (answer: unknown) => unknown
  return canonicalJson(essence(one)) === canonicalJson(essence(other))
}

/** Both sides of a question as JSON Schema 2020-12, for authors of policies. */
export const questionSchema = (question: AnyQuestion) => ({
  name: question.name,
  kind: question.kind,
  summary: question.summary,
  ask: documentOf(question.ask),
  answer: documentOf(question.answer),
})

const documentOf = (codec: Schema.Codec<unknown, unknown>) => {
  const { schema, definitions } = Schema.toJsonSchemaDocument(codec)
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    ...schema,
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }),
  }
}
