/**
 * A tape: JSON lines, each canonical. The first says which version this is. What requests are made of (messages,
 * lists of tools, systems) stands in lines of its own, once, named by its digest; an exchange refers to them, so
 * that a tape grows with what is new, and each line can be read where it stands.
 */
import { Schema } from "effect"
import { canonicalJson, sha256 } from "#core/canonical-json.ts"
import { ModelPart, modelFailureKinds } from "#core/wire/model.ts"

export const Header = Schema.Struct({ tape: Schema.Literal(1), madeBy: Schema.String })

export const Value = Schema.Struct({ value: Schema.String, is: Schema.Unknown })

export const Exchange = Schema.Struct({
  /** The id of the run when it was recorded. */
  run: Schema.String,
  agent: Schema.NullOr(Schema.String),
  purpose: Schema.String,
  step: Schema.Int,
  /** Who answered: for people. Not compared. */
  source: Schema.String,
  model: Schema.NullOr(Schema.String),
  limits: Schema.Struct({ contextTokens: Schema.Int, outputTokens: Schema.Int }),
  /** Names of values. */
  request: Schema.Struct({
    system: Schema.String,
    tools: Schema.String,
    messages: Schema.Array(Schema.String),
    maxOutputTokens: Schema.NullOr(Schema.Int),
  }),
  answer: Schema.Union([
    Schema.Struct({ parts: Schema.Array(ModelPart) }),
    Schema.Struct({
      failed: Schema.Struct({
        kind: Schema.Literals(modelFailureKinds),
        message: Schema.String,
        retryable: Schema.Boolean,
      }),
    }),
  ]),
})
export type Exchange = typeof Exchange.Type

export const Line = Schema.Union([Header, Value, Exchange])

/** Hexadecimal digits of a name: no two of the values of one tape have the same. */
const digestLength = 24

export const nameOfValue = (value: unknown): string =>
  sha256(canonicalJson(value)).slice("sha256:".length, "sha256:".length + digestLength)
