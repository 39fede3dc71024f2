/**
 * How one setting is declared: its description, default and bounds together, so that the reader, the
 * refusal, `config print`, the JSON Schema and the documentation all say the same.
 *
 * A bound refuses what lies outside; the few settings that the interface calls clamped take the
 * nearest value that is allowed instead.
 */
import { Effect, Schema, SchemaGetter } from "effect"

interface Bounds {
  readonly min: number
  readonly max: number
}

/** Longest text of a setting, in UTF-16 code units: far beyond any use, and no surprise for a log line. */
const maxTextLength = 4_096
/** Most entries of a list. */
const maxEntries = 1_000

const described = <S extends Schema.Top>(schema: S, description: string, fallback: S["Encoded"]) =>
  // an annotated schema is of the same type; Effect's own type for that, `Rebuild`, does not say so
  (schema.annotate({ description, default: fallback }) as S).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(fallback)),
  )

const bounded = (bounds: Bounds) => Schema.Finite.check(Schema.isBetween({ minimum: bounds.min, maximum: bounds.max }))

const boundedText = Schema.String.check(
  Schema.isMaxLength(maxTextLength),
  // a control character in a name or an address ends up in a header, a log line or a command
  Schema.isPattern(/^\P{Cc}*$/u, { expected: "a text without control characters" }),
)

const filledText = boundedText.check(Schema.isMinLength(1, { expected: "a text that is not empty" }))

export const integer = (description: string, fallback: number, bounds: Bounds) =>
  described(bounded(bounds).check(Schema.isInt()), description, fallback)

export const decimal = (description: string, fallback: number, bounds: Bounds) =>
  described(bounded(bounds), description, fallback)

/** A number outside the bounds becomes the nearest bound. */
export const clamped = (description: string, fallback: number, bounds: Bounds) =>
  described(
    Schema.Finite.annotate({ description, default: fallback }).pipe(
      Schema.decodeTo(Schema.Finite, {
        decode: SchemaGetter.transform((value: number) => Math.min(Math.max(value, bounds.min), bounds.max)),
        encode: SchemaGetter.passthrough(),
      }),
    ),
    description,
    fallback,
  )

export const flag = (description: string, fallback: boolean) => described(Schema.Boolean, description, fallback)

export const text = (description: string, fallback: string) => described(filledText, description, fallback)

/** A text that has a form: `expected` completes "Expected …". */
export const formOf = (expected: string, form: RegExp) => filledText.check(Schema.isPattern(form, { expected }))

export const textOf = (description: string, fallback: string, form: ReturnType<typeof formOf>) =>
  described(form, description, fallback)

/** Absent where nothing was set. */
export const optionalText = (description: string, form: typeof filledText = filledText) =>
  Schema.optionalKey(form.annotate({ description }))

/** A secret that every entry of a list must have. */
export const requiredSecret = (description: string, form: typeof filledText = filledText) =>
  Schema.RedactedFromValue(form.annotate({ description })).annotate({ description })

/** Absent where nothing was set; never printed, logged or sent. */
export const secret = (description: string, form: typeof filledText = filledText) =>
  Schema.optionalKey(requiredSecret(description, form))

export const choice = <const L extends readonly [string, ...string[]]>(
  description: string,
  choices: L,
  fallback: L[number],
) => described(Schema.Literals(choices), description, fallback)

/** Names with values of any form. Whoever owns a name decodes what is under it. */
export const free = (description: string) =>
  Schema.Record(Schema.String, Schema.Unknown)
    .annotate({ description })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed({})))

/** What several values must be together; `path` starts at the section or list that the rule belongs to. */
type Rule<T> = (value: T) => ReadonlyArray<{ readonly path: ReadonlyArray<PropertyKey>; readonly issue: string }>

const noRule = () => []

// below, descriptions stand before a rule for the JSON Schema, which has no rules, and after it for readers of the whole

export const list = <S extends Schema.Top>(
  description: string,
  entry: S,
  rule: Rule<ReadonlyArray<S["Type"]>> = noRule,
) =>
  Schema.Array(entry)
    .annotate({ description })
    .check(Schema.isMaxLength(maxEntries), Schema.makeFilter(rule))
    .annotate({ description })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed([])))

export const texts = (description: string, entry: typeof filledText = filledText) => list(description, entry)

/** Texts where leaving them out is not the same as having none. */
export const someTexts = (
  description: string,
  fallback: ReadonlyArray<string>,
  entry: typeof filledText = filledText,
) => described(Schema.Array(entry).check(Schema.isMaxLength(maxEntries)), description, fallback)

/** A part of the configuration; absent means that all of it has its defaults. */
export const section = <F extends Schema.Struct.Fields>(
  description: string,
  fields: F,
  rule: Rule<Schema.Struct.Type<F>> = noRule,
) => Schema.Struct(fields).annotate({ description }).check(Schema.makeFilter(rule)).annotate({ description })

/** A section inside another: where nothing of it is set, all of it has its defaults. */
export const nested = <S extends Schema.Top>(
  schema: S & (Record<never, never> extends S["Encoded"] ? unknown : never),
) =>
  // the condition above demands of the section that every key of it may be absent
  schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed({} as S["Encoded"])))

// forms that several sections use

export const httpUrl = formOf("an http:// or https:// address", /^https?:\/\/[^\s/?#]+\S*$/i)
export const absolutePath = formOf("an absolute path", /^(?:\/|[A-Za-z]:[\\/])/)
/** Ids of models are passed through; this only keeps out what no provider can mean. */
export const modelId = formOf("a model id", /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}$/)
/** A DNS name of dot-separated labels. */
export const dnsName = formOf(
  "a DNS name",
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i,
)
